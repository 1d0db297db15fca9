"""Run the project's command that compiles its programs, and read what it says.

The command reads one JSON object from standard input: `parameters`, `chips` (`topology`,
`bounds`, `accelerator_type`), `programs` (names; none means all), `kept` (a folder of its own). It
writes one JSON object a line: {"event": "environment" | "compiling" | "program" | "error", …}; a
"program" has the facts of `kernelkit.tpu.figures`, an "error" a `kind` and a `text`.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from kernelkit import processes
from kernelkit.errors import OF_NOTEBOOKS, RunFailedError
from kernelkit.project import PATH, Project

EVERY = 5.0  # seconds between two signs of life
LAST_LINES = 8  # of a command that failed

Tell = Callable[..., None]
Lines = queue.Queue[bytes | None]  # None after the last


def compile_programs(
    project: Project, python: Path, request: Mapping[str, Any], tell: Tell
) -> list[dict[str, Any]]:
    """The facts of each program, in the order in which the command compiled them.

    `tell(event, text)` hears what goes on. Raises the error that the command names, or
    `RunFailedError` with its last words.
    """
    programs: list[dict[str, Any]] = []
    with tempfile.TemporaryFile() as errors, _started(project, python, errors) as (process, lines):
        _ask(process, request)
        for event in _events(lines, tell):
            if event.get("event") == "program":
                programs.append({name: value for name, value in event.items() if name != "event"})
            elif event.get("event") == "environment":
                versions = dict(event.get("versions", {}))
                said = ", ".join(f"{name} {version}" for name, version in versions.items())
                tell("compiler", f"{said}, for {event.get('devices')} × {event.get('name')}")
            elif event.get("event") == "error":
                kind = OF_NOTEBOOKS.get(str(event.get("kind")), RunFailedError)
                raise kind(str(event.get("text")))
        if process.wait():
            errors.seek(0)
            last = errors.read().decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
            said = "\n".join(f"    {line}" for line in last)
            raise RunFailedError(
                f"the programs could not be built: {project.tpu.command} ended with exit code "
                f"{process.returncode}\n{said}".rstrip()
            )
    return programs


@contextmanager
def _started(
    project: Project, python: Path, errors: IO[bytes]
) -> Iterator[tuple[subprocess.Popen[bytes], Lines]]:
    words = shlex.split(project.tpu.command)
    if words[:1] == ["python"]:
        words[0] = str(python)
    paths = [str(path) for path in project.import_paths()]
    environment = {**os.environ, PATH: os.pathsep.join(paths)}
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=project.root,
            env=environment,
        )
    except OSError as error:
        raise RunFailedError(f"{project.tpu.command} could not be started: {error}") from None
    lines: Lines = queue.Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        processes.end(process)
        reader.join(EVERY)


def _read(pipe: IO[bytes], lines: Lines) -> None:
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _ask(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    pipe = process.stdin
    if pipe is None:
        return
    with suppress(BrokenPipeError), pipe:  # a command that ended at once says why itself
        pipe.write(json.dumps(request).encode())


def _events(lines: Lines, tell: Tell) -> Iterator[dict[str, Any]]:
    """The command's events as they come; meanwhile a sign of life every few seconds."""
    doing, begun = "building the model", time.monotonic()
    while True:
        try:
            line = lines.get(timeout=EVERY)
        except queue.Empty:
            tell("progress", f"{doing}: {time.monotonic() - begun:.0f} s")
            continue
        if line is None:
            return
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a library's own words
        if not isinstance(event, dict):
            continue
        if event.get("event") == "compiling":
            doing, begun = f"compiling the {event.get('program')}", time.monotonic()
            tell("progress", doing)
        yield event
