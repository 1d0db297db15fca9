"""A signal that ends the process unwinds it first."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernelkit.exits.signals import ENDING, EndedBySignal, unwinding


@pytest.fixture(autouse=True)
def handlers():
    """Those of an interactive shell, whatever those of a background job are."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_open_resources_are_closed_at_a_signal(number):
    closed = []
    with pytest.raises(EndedBySignal) as ended, unwinding():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), number)  # a second one does not cut the closing short
            closed.append(number)
    assert closed == [number]
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is signal.SIG_DFL


class InterruptedFinalizer:
    """As JAX's callback of the garbage collector when Ctrl-C comes at that moment."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_ctrl_c_in_a_finalizer_is_not_lost():
    with pytest.raises(KeyboardInterrupt), unwinding():
        resource = InterruptedFinalizer()
        del resource
        for _ in range(500):  # a pause of the main thread is not cut short
            time.sleep(0.01)


def test_signals_with_a_handler_are_left_to_it():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    with unwinding():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGHUP)


def test_another_thread_is_left_alone():
    entered = []

    def work():
        with unwinding():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered


ENDS_WITH_ITS_TERMINAL = """\
import fcntl, signal, termios, time
from kernelkit.exits.exit_codes import exits_with_code

signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)

@exits_with_code
def command():
    print("here", flush=True)
    time.sleep(60)

command()
"""


def test_a_closed_terminal_ends_a_command_as_its_signal_says():
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ENDS_WITH_ITS_TERMINAL],
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    with process:
        assert b"here" in os.read(terminal, 100)
        os.close(terminal)
    assert process.returncode == 128 + signal.SIGHUP


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_ends_with_two_lines_and_no_traceback_of_jupyters(tmp_path, number):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = "import time\nprint('go', flush=True)\ntime.sleep(600)"
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(book))
    command = [Path(sys.executable).with_name("kernelkit"), "run", "train.ipynb", "--no-report"]
    said = []
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            said.append(line)
            if line.strip() == "go":
                process.send_signal(number)
    text = "".join(said)
    assert "Traceback" not in text
    told, ending = text.splitlines()[-2:]
    assert told.startswith("interrupted what the run has made so far is in ")
    assert ending.startswith("interrupted" if number == signal.SIGINT else "ended by SIGTERM")
    assert process.returncode == 128 + number
