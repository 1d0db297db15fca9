"""A rehearsal's Kaggle ends with the command, and all that it started with it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from foreground import in_foreground

pytestmark = pytest.mark.long

# What `push_kernel.py --local` does, with sessions that need no papermill.
PUSH = """\
import sys
from pathlib import Path
from kernelkit.exits.exit_codes import exits_with_code
from local_kaggle.execution import running
from kernelkit.push.push_kernel import push_kernel

running.command = lambda kernel_type, box: [str(box.image / "bin/python"), "-c", {run!r}]
exits_with_code(push_kernel)(metadata=Path(sys.argv[1]), local=True)
"""
RUN = """\
import json
names = {"__name__": "__main__"}
for cell in json.load(open("../src/source.ipynb"))["cells"]:
    exec(compile(cell["source"], "cell", "exec"), names)
"""
SLEEP = """\
import subprocess, sys, time
quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sleep = [sys.executable, "-c", "import time; time.sleep(600)", MARK]
subprocess.Popen(sleep, **quiet)
subprocess.Popen(sleep, start_new_session=True, **quiet)
daemon = f"import subprocess; subprocess.Popen({sleep!r}, start_new_session=True)"
subprocess.run([sys.executable, "-c", daemon], **quiet)  # whose parent is gone
print("asleep", flush=True)
time.sleep(600)
"""


def asleep(mark):
    """The processes that the session left asleep under this mark."""
    processes = psutil.process_iter(["cmdline"])
    return [process for process in processes if mark in (process.info["cmdline"] or ())]


def wait_until_gone(mark):
    until = time.monotonic() + 60
    while asleep(mark):
        assert time.monotonic() < until, asleep(mark)
        time.sleep(0.05)


@pytest.fixture
def rehearsal(repository):
    """A push whose session sleeps in three processes; gives it and how to find those."""
    mark = f"asleep in {repository.root}"
    repository.sources(f"MARK = {mark!r}\n{SLEEP}")
    repository.on_cpu()
    push = subprocess.Popen(
        in_foreground(
            sys.executable, "-W", "ignore", "-c", PUSH.format(run=RUN), repository.metadata
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in push.stdout:
        if "asleep" in line:
            break
    assert len(asleep(mark)) == 3
    yield push, mark
    push.kill()
    push.communicate()
    for process in asleep(mark):
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_process_of_the_session_behind(rehearsal, number):
    push, mark = rehearsal
    os.kill(push.pid, number)
    _, message = push.communicate(timeout=60)
    assert push.returncode == 128 + number, message
    assert message.strip().splitlines()[-1] == f"ended by {number.name}"
    wait_until_gone(mark)


def test_kill_minus_9_leaves_none_behind_either(rehearsal):
    push, mark = rehearsal
    push.kill()
    wait_until_gone(mark)
