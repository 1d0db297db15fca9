"""Every tool ends in one message and its exit code."""

import errno
import os
import shlex
import subprocess
import sys

import pytest

from kernelkit.errors import RefusedError
from kernelkit.exits.exit_codes import exits_with_code


def ending_in(error):
    @exits_with_code
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RefusedError("no\x1b]0;title\x07\x9b5n"), 5),
        (OSError(36, "File name too long", "\x1b]0;title\x07" + "n" * 5000), 12),
        (RefusedError("half \ud83c"), 5),
    ],
)
def test_no_control_sequence_reaches_the_terminal(capsys, error, code):
    with pytest.raises(SystemExit) as ended:
        ending_in(error)()
    assert ended.value.code == code
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert not [c for c in message.rstrip("\n") if c < " " or "\x7f" <= c <= "\x9f"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "cannot write data.py (No space left on device): free some space"),
        (errno.EACCES, "cannot use data.py (Permission denied): correct its path or permissions"),
        (errno.EISDIR, "cannot use data.py (Is a directory): correct its path or permissions"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_helps(capsys, number, words):
    with pytest.raises(SystemExit) as ended:
        ending_in(OSError(number, os.strerror(number), "data.py"))()
    assert ended.value.code == 12
    assert words in capsys.readouterr().err


def test_a_tool_speaks_to_an_ascii_terminal():
    code = (
        "import click; from kernelkit.exits.exit_codes import exits_with_code\n"
        "from kernelkit.errors import RefusedError\n"
        "@exits_with_code\n"
        "def command():\n"
        "    click.echo('Blüte'); print('🌸'); raise RefusedError('花')\n"
        "command()"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 5
    assert done.stdout.endswith(b"\\U0001f338\n")
    assert done.stderr.startswith(b"error: ")
    assert done.stderr.count(b"\n") == 1


def test_a_signal_during_garbage_collection_cuts_the_next_wait_short():
    code = (
        "import os, signal, sys, time\n"
        "from kernelkit.exits.exit_codes import exits_with_code\n"
        "class Slow:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(0.1)\n"
        "@exits_with_code\n"
        "def command():\n"
        "    Slow()\n"
        "    time.sleep(60)\n"
        "    print('went on')\n"
        "command()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (143, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_command_whose_output_was_closed_ends_as_any_other(closed):
    code = (
        "import sys, click; from kernelkit.exits.exit_codes import exits_with_code\n"
        "from kernelkit.terminal.events import STATUS, Events\n"
        "from kernelkit.errors import RefusedError\n"
        "@exits_with_code\n"
        "def command():\n"
        "    Events()(STATUS, 'told'); print('said', file=sys.stderr); raise RefusedError('no')\n"
        "command()"
    )
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (5, False)
