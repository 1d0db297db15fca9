"""A command's terminal: recorded with its colours, and drawn as it is when the command is over."""

import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from kernelkit.errors import KernelkitError
from kernelkit.terminal import safe_text

COLUMNS, ROWS = 100, 30
MOST_LINES = 44  # of a picture; of more the middle is left out


def record(command: Sequence[str], exit_code: int = 0) -> str:
    """What the command (a tool and its arguments, for this Python) writes to a terminal.

    It is shown here too, as it comes. Raises `KernelkitError` where the command ends with another
    exit code than it should.
    """
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        close_fds=True,
    )
    os.close(follower)
    recording = io.BytesIO()
    while part := _read(leader):
        recording.write(part)
        sys.stdout.buffer.write(part)
        sys.stdout.flush()
    os.close(leader)
    code = process.wait()
    if code != exit_code:
        raise KernelkitError(f"the command ended with exit code {code}")
    return recording.getvalue().decode(errors="replace")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def screen(recording: str) -> list[str]:
    """The lines that stay on the screen, with their colours."""
    return safe_text.plain(recording.replace("\r\n", "\n"), colours=True).rstrip("\n").split("\n")


def without_colours(lines: Sequence[str]) -> str:
    """The lines as one plain text."""
    return safe_text.plain("\n".join(lines))


def as_svg(lines: Sequence[str], title: str, path: Path) -> Path:
    """Draw the lines into an SVG file that asks no network for fonts."""
    lines = list(lines)
    if len(lines) > MOST_LINES:
        head = MOST_LINES // 2
        lines[head : head - MOST_LINES + 1] = ["        ⋮"]
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(Text.from_ansi("\n".join([f"$ {title}", *lines])), highlight=False)
    text = console.export_svg(title="", theme=MONOKAI, unique_id="terminal")
    text = re.sub(r"@font-face\s*{[^}]*}", "", text)
    text = text.replace("Fira Code, monospace", "Menlo, Consolas, 'DejaVu Sans Mono', monospace")
    path.write_text(re.sub(r"[ \t]+\n", "\n", text), encoding="utf-8")
    return path
