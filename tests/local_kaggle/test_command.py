import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

COMMAND = [sys.executable, "-m", "local_kaggle"]


@pytest.fixture
def serve(tmp_path):
    """Starts the command, and ends it after the test, for the last line before a pause."""
    tools = []

    def start(*options, last):
        command = [*COMMAND, "--root", str(tmp_path / "root"), *options]
        tools.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return next(line for line in tools[0].stdout if line.startswith(last))

    yield start
    tools[0].send_signal(signal.SIGTERM)
    tools[0].communicate(timeout=60)
    assert tools[0].returncode == 0
    assert not (tmp_path / "root" / "environment.sh").exists()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_it_serves_says_how_to_get_there_and_ends_when_told(serve):
    fill = "mkdir -p {catalogue}/competitions/filled"
    script = serve("--fill", fill, last="# the same lines: ").partition(": ")[2].strip()
    done = run("/bin/sh", "-c", f"{script} && {sys.executable} -m kaggle competitions files filled")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--fill", "false", "the catalogue could not be filled"),
        ("--token", "KGAT_x=bob", "add --account bob"),
        ("--port", "99999", "port must be 0-65535"),
        ("--memory", "1e999", "inf is no number of GB"),
        ("--memory", "nan", "nan is no number of GB"),
    ],
)
def test_what_it_cannot_begin_with_ends_it(tmp_path, option, value, words):
    done = run(*COMMAND, "--root", str(tmp_path), option, value)
    assert done.returncode == (2 if option == "--memory" else 1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_accounts_have_keys_of_their_own_and_tokens(serve):
    accounts = ("--account", "ann", "--account", "bob", "--token", "KGAT_of-bob=bob")
    event = json.loads(serve("--json", *accounts, last="{"))
    keys = event["accounts"]
    assert list(keys) == ["ann", "bob"]
    assert keys["ann"] != keys["bob"]
    assert event["set"]["KAGGLE_USERNAME"] == "ann"
    url = f"{event['url']}/api/v1/kernels.KernelsApiService/ListKernels"
    for name, key in keys.items():
        assert requests.post(url, json={}, auth=(name, key), timeout=60).status_code == 200
    headers = {"Authorization": "Bearer KGAT_of-bob"}
    assert requests.post(url, json={}, headers=headers, timeout=60).status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="needs a full device")
def test_where_its_lines_cannot_be_written_it_leaves_no_key_behind(tmp_path):
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "--root", str(tmp_path)]
        done = subprocess.run(command, stdout=full, stderr=-1, timeout=60)
    assert done.returncode == 12
    assert not (tmp_path / "environment.sh").exists()


def test_a_small_machine_rehearses_a_smaller_memory(serve):
    event = json.loads(serve("--json", "--memory", "0.2", last="{"))
    address, variables = event["url"], event["set"]
    account = variables["KAGGLE_USERNAME"], variables["KAGGLE_KEY"]

    def call(method, **fields):
        url = f"{address}/api/v1/kernels.KernelsApiService/{method}"
        return requests.post(url, json=fields, auth=account, timeout=60).json()

    text = "x = b'x' * 400_000_000\nimport time; time.sleep(60)"
    kinds = {"language": "python", "kernelType": "script", "newTitle": "eats-much"}
    call("SaveKernel", slug="tester/eats-much", text=text, **kinds)
    session, end = {}, time.monotonic() + 60
    while session.get("status") not in ("COMPLETE", "ERROR"):
        assert time.monotonic() < end
        time.sleep(0.1)
        names = {"userName": "tester", "kernelSlug": "eats-much", "versionLabel": "v1"}
        session = call("GetKernelSessionStatus", **names)
    assert "GB of memory, past its limit of 0.2 GB" in session["failureMessage"]
