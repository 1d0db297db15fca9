"""Run the project's command that compiles its programs, and read what it says.

The command reads one JSON object from standard input: `parameters`, `chips` (`topology`,
`bounds`, `accelerator_type`), `programs` (names; none means all). It writes one JSON object per
line: {"event": "environment" | "compiling" | "program" | "error", …}; a "program" has the facts of
`kernelkit.tpu.figures`, an "error" a `kind` and a `text`.
"""

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from kernelkit import processes
from kernelkit.errors import OF_NOTEBOOKS, RunFailedError
from kernelkit.interpreter import PATH
from kernelkit.project import Project
from kernelkit.terminal.events import PROGRESS, Event

COMPILER = Event("compiler")
EVERY = 5.0  # seconds between two signs of life
LAST_LINES = 8  # of a command that failed
KILLED = (
    "the system killed the compiler, most likely because memory ran out. Use a machine with more "
    "memory, or another compiler (--libtpu)"
)
ENDED = (
    "the compiler was ended by {}, which says nothing about whether the program fits. If it "
    "crashes again, try another compiler (--libtpu) or smaller sizes"
)

Tell = Callable[..., None]


def compile_programs(
    project: Project,
    python: Path,
    request: Mapping[str, Any],
    tell: Tell,
    libtpu: Path | None = None,
) -> list[dict[str, Any]]:
    """The facts of each program, in the order in which the command compiled them.

    `tell(event, text)` hears what goes on. `libtpu`: the folder of another libtpu than the
    environment's. Raises the error that the command names, or `RunFailedError` with its last
    words.
    """
    programs: list[dict[str, Any]] = []
    with tempfile.TemporaryFile() as errors, _started(project, python, errors, libtpu) as process:
        # A command that has ended already reads nothing; its last words say why.
        with suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as pipe:
            pipe.write(json.dumps(request).encode())
        for event in _events(cast("IO[bytes]", process.stdout), tell):
            kind = event.pop("event", "")
            if kind == "program":
                programs.append(event)
            elif kind == "environment":
                versions = dict(event.get("versions", {})).items()
                names = ", ".join(f"{name} {version}" for name, version in versions)
                tell(COMPILER, f"{names}, for {event.get('devices')} × {event.get('name')}")
            elif kind == "error":
                error = OF_NOTEBOOKS.get(str(event.get("kind")), RunFailedError)
                raise error(str(event.get("text")))
        code = process.wait()
        if code:
            errors.seek(0)
            last = errors.read().decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
            reason = f"{project.tpu.command} ended with exit code {code}"
            if code == -signal.SIGKILL:
                reason = KILLED
            elif code < 0:
                reason = ENDED.format(signal.Signals(-code).name)
            raise RunFailedError(
                "\n    ".join([f"the programs could not be built: {reason}", *last])
            )
    return programs


@contextmanager
def _started(
    project: Project, python: Path, errors: IO[bytes], libtpu: Path | None
) -> Iterator[subprocess.Popen[bytes]]:
    words = shlex.split(project.tpu.command)
    if words[:1] in (["python"], ["python3"]):
        words[0] = str(python)
    paths = [*filter(None, [libtpu]), *project.import_paths()]
    process = subprocess.Popen(
        [sys.executable, "-m", processes.__name__, str(os.getpid()), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
        cwd=project.root,
        env=os.environ | {PATH: os.pathsep.join(map(str, paths))},
    )
    with suppress(OSError):  # a machine without memory kills the compiler, and nothing else
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="utf-8")
    with process:
        try:
            yield process
        finally:
            processes.end(process)


def _events(pipe: IO[bytes], tell: Tell) -> Iterator[dict[str, Any]]:
    """The command's events as they come; meanwhile a sign of life every few seconds."""
    doing = "building the model"
    begun = time.monotonic()
    while True:
        if not select.select([pipe], [], [], EVERY)[0]:
            tell(PROGRESS, f"{doing}: {time.monotonic() - begun:.0f} s")
            continue
        line = pipe.readline()
        if not line:
            return
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a library's own words
        if isinstance(event, dict):
            if event.get("event") == "compiling":
                doing = f"compiling the {event.get('program')}"
                begun = time.monotonic()
                tell(PROGRESS, doing)
            yield event
