"""The examples as a stranger has them: copied out of this repository, and used from there."""

import io
import json
import shutil

import pytest
from checkouts import ROOT

from kernelkit.pushes.command import push_kernel

EXAMPLES = ROOT / "examples"


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Copies an example, and makes the copy the working directory; gives its folder."""

    def copied(name):
        ignored = shutil.ignore_patterns("runs", "__pycache__", ".*_cache", ".ipynb_checkpoints")
        folder = shutil.copytree(EXAMPLES / name, tmp_path / "copied", ignore=ignored)
        monkeypatch.chdir(folder)
        return folder

    return copied


@pytest.fixture
def dry_run():
    """Shows what a push of the example would send, and complains about nothing; gives events."""

    def dry_run():
        stream = io.StringIO()
        push_kernel(local=True, dry_run=True, as_json=True, stream=stream)
        events = {e["event"]: e for e in map(json.loads, stream.getvalue().splitlines())}
        assert not {"warning", "error"} & set(events)
        return events

    return dry_run
