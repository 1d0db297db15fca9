"""What looks like a credential is found; what only resembles one is not."""

import string

import pytest

from kernelkit.bundle import secret_scan

LETTERS = string.ascii_letters + string.digits


def repeated(length):
    return (LETTERS * 3)[:length]


LEAKS = [
    '{"username":"me","key":"' + "0123456789abcdef" * 2 + '"}',
    f"KGAT_{repeated(32)}",
    "KAGGLE_KEY=" + "0123456789abcdef" * 2,
    "os.environ['KAGGLE_KEY'] = '" + "0123456789abcdef" * 2 + "'",
    "-----BEGIN " + "RSA PRIVATE KEY-----",
    "-----BEGIN " + "PRIVATE KEY-----",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "hf_" + repeated(34),
    "ghp_" + repeated(36),
    "github_pat_" + repeated(60),
    "AIza" + repeated(35),
    "xoxb-" + "1234567890-abcdefghijkl",
    "sk-" + repeated(40),
    "WANDB_API_KEY=" + "0123456789" * 4,
    "export DB_PASSWORD='a1" + repeated(24) + "'",
    "MY_SECRET = 'a1" + repeated(24) + "'",
]

HARMLESS = [
    'key = "macro_f1"',
    '{"key": "value"}',
    "TOKENIZER = 'bert-base-uncased-v2-12345678'",
    "token = os.environ['TOKEN']",
    "KAGGLE_KEY = os.environ.get('KAGGLE_KEY')",
    "password = getpass.getpass()",
    "sha256 = '" + "0123456789abcdef" * 4 + "'",
    "task-specific-vocabulary-and-a-very-long-name",
    "disk-" + "cache" * 10,
]


@pytest.mark.parametrize("line", LEAKS)
def test_a_credential_is_found_in_its_line(line):
    (leak,) = secret_scan.find_secrets([("file.py", f"first\n{line}\n")])
    assert (leak.file, leak.line) == ("file.py", 2)


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_resembles_one_passes(line):
    assert not list(secret_scan.find_secrets([("file.py", line)]))


@pytest.mark.parametrize("name", [".env", "deep/.env.local", "kaggle.json", "x/access_token"])
def test_a_file_of_credentials_is_one_by_its_name(name):
    (leak,) = secret_scan.find_secrets([(name, "nothing to see")])
    assert "credentials" in str(leak)
