"""What looks like a credential is found; what only resembles one is not."""

import string

import pytest

from kernelkit.leaks import find_secrets

LETTERS = string.ascii_letters + string.digits


def repeated(length):
    return (LETTERS * 3)[:length]


LEAKS = [
    '{"username":"me","key":"' + "0123456789abcdef" * 2 + '"}',
    f"KGAT_{repeated(32)}",
    "os.environ['KAGGLE_KEY'] = '" + "0123456789abcdef" * 2 + "'",
    "-----BEGIN " + "RSA PRIVATE KEY-----",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "hf_" + repeated(34),
    "ghp_" + repeated(36),
    "github_pat_" + repeated(60),
    "AIza" + repeated(35),
    "xoxb-" + "1234567890-abcdefghijkl",
    "sk-" + repeated(40),
    "WANDB_API_KEY=" + "0123456789" * 4,
    "export DB_PASSWORD='a1" + repeated(24) + "'",
    "API_KEY: str = '" + "0123456789abcdef" * 2 + "'",
    'text = "{\\"key\\": \\"' + "0123456789abcdef" * 2 + '\\"}"',
    "connect(user='me', key='" + "0123456789ABCDEF" * 2 + "')",
    "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "os.environ['AWS_SECRET_ACCESS_KEY'] = '" + "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'",
    "headers = {'Authorization': 'Bearer " + repeated(24) + "1'}",
    "Authorization: Basic " + "dXNlcjpwYXNzd29yZA==",
    "pip install git+https://me:" + "hunter22@example.com/private.git",
    "postgresql://admin:" + "s3cr3t@db.example.com:5432/flowers",
    "https://hooks.slack.com/services/" + "T00000000/B00000000/" + "X" * 24,
    "xapp-1-" + "A" * 24,
    "sk_live_" + repeated(24),
    "whsec_" + repeated(32),
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + repeated(30),
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
    "cache_key = '" + "0123456789abcdef" * 2 + "'",
    "monkey = '" + "0123456789abcdef" * 2 + "'",
    "key = '" + "0123456789abcdef" * 4 + "'",
    "'commit': '" + "0123456789" * 4 + "'",
    "'content': 'sha256:" + "0123456789abcdef" * 4 + "'",
    "headers = {'Authorization': f'Bearer {token}'}",
    "a bearer of bad news about authentication-in-general",
    "f'postgresql://{user}:{password}@{host}/db'",
    "https://user:password@example.com",
    "https://me:$TOKEN@example.com",
    "https://example.com:8080/a@b",
    "http://localhost:8888/lab?token=",
    "pk_live_" + repeated(24),
    "risk_live_" + "premium" * 3,
]


@pytest.mark.parametrize("line", LEAKS)
def test_a_credential_is_found_in_its_line(line):
    (leak,) = find_secrets([("file.py", f"first\n{line}\n")])
    assert leak.startswith("file.py:2 looks like ")
    assert line not in leak


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_resembles_one_passes(line):
    assert not list(find_secrets([("file.py", line)]))


@pytest.mark.parametrize("name", [".env", "deep/.env.local", "kaggle.json", "x/access_token"])
def test_a_file_of_credentials_is_one_by_its_name(name):
    (leak,) = find_secrets([(name, "nothing to see")])
    assert leak == f"{name}:1 looks like a credentials file"


def test_ones_own_key_needs_no_shape():
    texts = [("a.py", "x = 1\ny = 'Abcd_efgh-1'"), ("b.py", "y = 'Abcd_efgh-2'")]
    assert not list(find_secrets(texts))
    (leak,) = find_secrets(texts, ["Abcd_efgh-1", "", "x"])
    assert leak == "a.py:2 looks like your own Kaggle key or token"
