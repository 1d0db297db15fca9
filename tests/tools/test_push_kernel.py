"""The tools themselves, as processes: quick to answer, honest in their exit code."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import nbformat.v4
import pytest

from kernelkit.pushes.status import list_pushes

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "push_kernel.py"


def run(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, str(TOOL), *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


def busy():
    """Seconds of work done by processes that have ended: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture
def kernel(tmp_path):
    """A kernel without a package, in a folder of its own."""
    parameters = nbformat.v4.new_code_cell("petals = 5  # >= 1: how many")
    parameters.metadata.tags = ["parameters"]
    work = nbformat.v4.new_code_cell("open('count.txt', 'w').write(str(petals))")
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters, work]), tmp_path / "count.ipynb")
    values = {
        "id": "INSERT_USERNAME/count-petals",
        "title": "Count petals",
        "language": "python",
        "kernel_type": "notebook",
        "code_file": "count.ipynb",
        "enable_internet": False,
    }
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(values))
    return tmp_path


def test_the_whole_preflight_takes_less_than_a_second(kernel):
    began = busy()
    done = run("--dry-run", cwd=kernel)
    assert done.returncode == 0, done.stderr
    assert busy() - began < 1


@pytest.mark.long
def test_a_rehearsal_brings_the_result_home(kernel):
    done = run("--local", "-p", "petals=8", cwd=kernel)

    assert done.returncode == 0, done.stdout + done.stderr
    home = kernel / "runs" / "rehearsal-count-petals-v1"
    assert (home / "count.txt").read_text() == "8"
    assert (home / "report.html").is_file()
    assert "[rehearsal] pushed" in done.stdout
    listed = list_pushes(kernel / "runs")
    assert "tester/count-petals/1 (rehearsal)" in listed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nonsense"], 2, "No such option"),
        (["-p", "petal=8"], 2, "did you mean petals?"),
        (["-p", "petals=0"], 2, "petals=0 is not allowed"),
        (["--timeout", "100000"], 3, "exceeds Kaggle's limit"),
        (["--accelerator", "TpuV38"], 3, "retired"),
        (["--metadata", "nowhere.json"], 3, "--metadata"),
        ([], 4, "settings/api"),
        (["--resume"], 4, "settings/api"),
        (["--local", "--no-wait"], 2, "--no-wait"),
        (["--local", "--resume"], 2, "no push in"),
        (["--local", "--submit", "x"], 3, "competition_sources"),
    ],
)
def test_each_mistake_has_its_code_and_one_message(kernel, arguments, code, message):
    done = run(*arguments, cwd=kernel)
    assert done.returncode == code, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(message) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ("backbone=VGG99", 2, "is not allowed: did you mean VGG19?"),
        ("image_size=128", 3, "the competition's photos have 192, 224, 331, 512 pixels"),
    ],
)
@pytest.mark.parametrize("tool", ["push_kernel", "sweep"])
def test_a_wrong_value_is_found_at_the_desk_without_tensorflow(tool, value, code, message):
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), "--dry-run", "-p", value]
    if tool == "sweep":
        command += [str(ROOT / "notebooks" / "sweeps" / "schedule.yaml"), "--kaggle"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-p", "petal=8"], 2),
        (["--timeout", "100000"], 3),
        (["--dry-run", "--timeout", "1e5"], 3),
        ([], 4),
    ],
)
def test_with_json_an_error_comes_once_and_as_an_event(kernel, arguments, code):
    done = run("--json", *arguments, cwd=kernel)
    assert (done.returncode, done.stderr) == (code, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["exit_code"] for event in events if event["event"] == "error"] == [code]


def test_an_interrupt_leaves_the_run_and_has_its_code(kernel, tmp_path_factory, hearing_ctrl_c):
    from local_kaggle.limits import ServerLimits
    from local_kaggle.server import LocalKaggle

    root = tmp_path_factory.mktemp("kaggle")
    with LocalKaggle(root, limits=ServerLimits(queue_seconds=60.0)) as server:
        key = server.key()
        with subprocess.Popen(
            [*hearing_ctrl_c, str(TOOL), "--json"],
            cwd=kernel,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=server.client_environment(),
        ) as tool:
            message = ""
            for line in tool.stdout:
                message += line
                if json.loads(line)["event"] == "state":
                    tool.send_signal(signal.SIGINT)
        assert tool.returncode == 130
    assert "kernelkit resume tester/count-petals/1" in message
    assert key not in message


@pytest.mark.long
def test_two_commands_at_once_push_one_version(kernel, tmp_path_factory):
    from local_kaggle.limits import ServerLimits
    from local_kaggle.server import LocalKaggle

    root = tmp_path_factory.mktemp("kaggle")
    with LocalKaggle(root, limits=ServerLimits(queue_seconds=60.0)) as server:
        started = [
            subprocess.Popen(
                [sys.executable, str(TOOL), "--no-wait"],
                cwd=kernel,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=server.client_environment(),
            )
            for _ in range(2)
        ]
        message = [one.communicate(timeout=60)[0] for one in started]
        assert sorted(one.returncode for one in started) == [0, 3], message
        assert server.faults.calls["SaveKernel"] == 1
