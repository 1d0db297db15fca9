"""The tools themselves, as processes: quick to answer, honest in their exit code."""

import json
import subprocess
import sys

import pytest
from checkouts import ROOT
from click.testing import CliRunner

from kernelkit.cli.console import main
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

TOOL = ROOT / "tools" / "push_kernel.py"
NOTEBOOK = """\
# %% tags=["parameters"]
petals = 5  # >= 1: how many

# %%
open("count.txt", "w").write(str(petals))
"""


def start(*arguments, **options):
    command = [sys.executable, str(TOOL), *arguments]
    options = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options
    return subprocess.Popen(command, **options)


@pytest.fixture
def kernel(tmp_path):
    """A kernel without a package, in a folder of its own."""
    (tmp_path / "count.py").write_text(NOTEBOOK)
    values = {
        "id": "INSERT_USERNAME/count-petals",
        "title": "Count petals",
        "language": "python",
        "kernel_type": "notebook",
        "code_file": "count.py",
        "enable_internet": False,
    }
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(values))
    return tmp_path


@pytest.fixture
def kaggle(tmp_path):
    """A local Kaggle whose sessions wait for a minute."""
    with LocalKaggle(tmp_path / "kaggle", limits=ServerLimits(queue_seconds=60.0)) as server:
        yield server


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nonsense"], 2, "No such option"),
        (["--timeout", "100000"], 3, "exceeds Kaggle's limit"),
        (["--metadata", "nowhere.json"], 3, "--metadata"),
        (["--resume"], 4, "settings/api"),
        (["--resume", "anna/train/3", "--dry-run"], 2, "--resume does not take --dry-run"),
        (["--resume", "anna/train/3", "count.py"], 2, "--resume does not take notebook"),
    ],
)
def test_each_mistake_has_its_code_and_one_message(
    kernel, call, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(kernel)
    done = call("push_kernel", *arguments)
    assert (done.exit_code, done.output.count(message)) == (code, 1), done.output


def test_a_wrong_value_is_found_at_the_desk(monkeypatch):
    monkeypatch.chdir(ROOT)
    words = "sweep notebooks/sweeps/schedule.yaml --kaggle --dry-run -p image_size=8"
    done = CliRunner().invoke(main, words.split())
    assert done.exit_code == 2, done.output
    assert "image_size=8 is too small for EfficientNetB0: set 32 or more" in done.stderr


@pytest.mark.long
def test_two_commands_at_once_push_one_version(kernel, kaggle):
    environment = kaggle.client_environment()
    both = [start("--no-wait", cwd=kernel, env=environment) for _ in range(2)]
    messages = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], messages
    assert kaggle.faults.calls["SaveKernel"] == 1
