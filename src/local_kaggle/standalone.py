"""The local Kaggle as a command: serve until interrupted, and say how to get there."""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
from pathlib import Path
from types import FrameType

import click

from kernelkit import project
from kernelkit.files import write_text
from kernelkit.terminal.cli import ENDING
from local_kaggle.catalogue import by_this_python, fill_catalogue
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.server import UNSET_FOR_CLIENT, LocalKaggle


def local_kaggle(
    root: Path,
    port: int = 0,
    catalogue: Path | None = None,
    faults: int | None = None,
    fill: str | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Serve on 127.0.0.1 until SIGINT, SIGTERM or SIGHUP; what still runs is killed then.

    Prints the shell lines that point the official client here and keeps them in
    `root/environment.sh` while it serves. `faults` is the seed of a schedule, `fill` a command
    that puts inputs in the catalogue first; by default it is the project's own, for an empty
    catalogue. `as_json` prints one object with the variables instead; `quiet` prints nothing.
    Raises KernelkitError if the port is taken or the command fails.
    """
    schedule = None if faults is None else FaultSchedule.seeded(faults)
    kaggle = LocalKaggle(root, port=port, catalogue=catalogue, faults=schedule)
    if fill:
        fill_catalogue(kaggle.catalogue, fill)
    elif not catalogue:
        _fill_by_project(kaggle.catalogue)
    stop = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    ending = [n for n in ENDING if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, *ending)}
    try:
        with kaggle:
            lines = shell_lines(kaggle)
            script = write_text(kaggle.root / "environment.sh", lines)
            script.chmod(0o600)  # it holds the key
            try:
                if as_json:
                    click.echo(_as_event(kaggle, script))
                elif not quiet:
                    click.echo(f"# a Kaggle for rehearsal, catalogue in {kaggle.catalogue}")
                    click.echo(lines, nl=False)
                    click.echo(f"# the same lines: . {shlex.quote(str(script))}")
                while not stop.wait(0.5):  # a wait without end would not notice signals
                    continue
            finally:
                script.unlink(missing_ok=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fill_by_project(catalogue: Path) -> None:
    """Run the present project's command on an empty catalogue, where it needs nothing of a push."""
    own = project.find_project(Path.cwd())
    empty = not (catalogue.is_dir() and any(catalogue.iterdir()))
    if empty and re.findall(r"\{(\w+)\}", own.catalogue) == ["catalogue"]:
        fill_catalogue(catalogue, by_this_python(own.catalogue), own.root)


def _as_event(kaggle: LocalKaggle, script: Path) -> str:
    event = {
        "event": "serving",
        "url": kaggle.url,
        "catalogue": str(kaggle.catalogue),
        "set": dict(kaggle.environment()),
        "unset": list(UNSET_FOR_CLIENT),
        "script": str(script),
    }
    return json.dumps(event)


def shell_lines(kaggle: LocalKaggle) -> str:
    """Lines for a POSIX shell that point the official client at a serving `kaggle`."""
    exports = [f"export {k}={shlex.quote(v)}" for k, v in kaggle.environment().items()]
    return "\n".join([f"unset {' '.join(UNSET_FOR_CLIENT)}", *exports]) + "\n"
