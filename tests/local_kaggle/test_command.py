from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "local_kaggle"]


@pytest.fixture
def environment(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KAGGLE_")}
    return kept | {"HOME": str(tmp_path)}


def test_it_serves_says_how_to_get_there_and_ends_when_told(tmp_path, environment):
    fill = (
        f"{sys.executable} -c 'import pathlib; "
        f'pathlib.Path("{{catalogue}}/competitions/filled").mkdir(parents=True)\''
    )
    root = tmp_path / "root"
    command = [*COMMAND, "--root", str(root), "--fill", fill]
    tool = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert tool.stdout is not None
        lines = []
        while not lines or not lines[-1].startswith("# the same lines"):
            lines.append(tool.stdout.readline())
            assert lines[-1], tool.stderr.read() if tool.stderr else ""
        script = root / "environment.sh"
        shell = (
            f". {script} && {sys.executable} -m kaggle competitions files filled && echo reached"
        )
        done = subprocess.run(
            ["/bin/sh", "-c", shell], env=environment, capture_output=True, text=True, timeout=60
        )
        assert "reached" in done.stdout, done.stdout + done.stderr
    finally:
        tool.send_signal(signal.SIGTERM)
        _, errors = tool.communicate(timeout=20)
    assert tool.returncode == 0, errors
    assert not script.exists()


def test_a_command_that_cannot_fill_the_catalogue_ends_it(tmp_path, environment):
    command = [*COMMAND, "--root", str(tmp_path), "--fill", "false"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "the catalogue could not be filled" in done.stderr


def test_accounts_have_keys_of_their_own_and_tokens(tmp_path, environment):
    accounts = ("--account", "ann", "--account", "bob", "--token", "KGAT_of-bob=bob")
    command = [*COMMAND, "--root", str(tmp_path / "root"), "--json", *accounts]
    tool = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert tool.stdout is not None
        event = json.loads(tool.stdout.readline())
        keys, variables = event["accounts"], event["set"]
        assert list(keys) == ["ann", "bob"]
        assert keys["ann"] != keys["bob"]
        assert variables["KAGGLE_USERNAME"] == "ann"
        for own in (
            {},
            {"KAGGLE_USERNAME": "bob", "KAGGLE_KEY": keys["bob"]},
            {"KAGGLE_API_TOKEN": "KGAT_of-bob", "KAGGLE_KEY": "wrong"},
        ):
            done = subprocess.run(
                [sys.executable, "-m", "kaggle", "kernels", "list", "--mine"],
                env=environment | variables | own,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        tool.send_signal(signal.SIGTERM)
        tool.communicate(timeout=20)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a full device")
def test_where_its_lines_cannot_be_written_it_leaves_no_key_behind(tmp_path, environment):
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "--root", str(tmp_path)]
        done = subprocess.run(command, env=environment, stdout=full, stderr=-1, timeout=30)
    assert done.returncode == 12
    assert not (tmp_path / "environment.sh").exists()


def test_a_token_of_nobody_is_refused(tmp_path, environment):
    command = [*COMMAND, "--root", str(tmp_path), "--token", "KGAT_x=bob"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "add --account bob" in done.stderr
