"""Look which processes of a session use its accelerator. Rides as text, and runs as a process.

    python accelerator_watch.py KIND FILE [DEV PROC]

At its start, once a minute, when asked, and at its end if it was never asked, it looks which
processes hold one of the accelerator's device files or have its runtime mapped; commands that only
ask do not count. The file is JSON:
{"kind", "minutes", "held_minutes", "devices", "busy"}, the last the mean percent of a GPU's time.
"""

import contextlib
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEVICES = {"tpu": ("accel*", "vfio/*"), "gpu": ("nvidia[0-9]*",)}
RUNTIMES = {"tpu": "libtpu", "gpu": "libcuda.so"}
ONLY_ASK = {"nvidia-smi", "tpu-info", "nvitop", "gpustat"}
PAUSE_SECONDS = 60.0
ANSWER_SECONDS = 3.0
SILENT_MINUTES = 10.0  # without a process that uses it, the log says so
ASK_GPUS = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]


def is_used(kind: str, dev: Path, proc: Path) -> bool:
    """Whether a process holds a device file below `dev`, or has the runtime in its memory."""
    devices = {str(path) for pattern in DEVICES[kind] for path in dev.glob(pattern)}
    for process in proc.glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
            if process.name == str(os.getpid()) or only_asks(command):
                continue
            if not devices.isdisjoint(open_files(process)):
                return True
            with (process / "maps").open(errors="replace") as lines:
                if any(RUNTIMES[kind] in line.rpartition("/")[2] for line in lines):
                    return True
        except OSError:  # it has ended, or is another user's
            continue
    return False


def only_asks(command: list[bytes]) -> bool:
    """Whether a command, or the program that Python runs, is one that only looks at devices."""
    return not ONLY_ASK.isdisjoint(Path(os.fsdecode(word)).name for word in command[:2])


def open_files(process: Path) -> list[str]:
    """The paths of the files that a process of /proc has open."""
    paths = []
    for file in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            paths.append(str(file.readlink()))
    return paths


def busy() -> list[float]:
    """The percent of its time that each GPU works just now; empty if nothing says so."""
    try:
        said = subprocess.run(ASK_GPUS, capture_output=True, text=True, timeout=20).stdout
        return [float(line) for line in said.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


class Watch:
    """What was seen of an accelerator so far."""

    def __init__(self, kind: str, file: Path, dev: Path, proc: Path) -> None:
        self.kind = kind
        self.file = file
        self.dev = dev
        self.proc = proc
        self.began = self.last = time.monotonic()
        self.held = 0.0  # seconds
        self.percents: list[float] = []
        self.told = False

    def look(self) -> None:
        """Look once; what is seen counts for all of the time since the look before."""
        now = time.monotonic()
        if is_used(self.kind, self.dev, self.proc):
            self.held += now - self.last
        self.last = now
        if not (self.told or self.held) and now - self.began >= 60 * SILENT_MINUTES:
            self.told = True
            words = f"for {SILENT_MINUTES:.0f} minutes, no process has opened the"
            print(f"{words} {self.kind.upper()} that was asked for", file=sys.stderr, flush=True)

    def write(self) -> None:
        """Write the file, atomically."""
        content = {
            "kind": self.kind,
            "minutes": round((self.last - self.began) / 60, 2),
            "held_minutes": round(self.held / 60, 2),
            "devices": sum(len(list(self.dev.glob(each))) for each in DEVICES[self.kind]),
            "busy": round(sum(self.percents) / len(self.percents), 1) if self.percents else None,
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(self.file)

    def run(self) -> None:
        """Look until stdin closes or the parent ends; a byte asks for the file, a line answers."""
        parent = os.getppid()
        written = False
        while True:
            self.look()
            asked = select.select([0], [], [], PAUSE_SECONDS)[0]
            if asked and os.read(0, 1):  # none is there once stdin is closed
                self.look()
                self.write()
                written = True
                print(flush=True)
            elif asked or os.getppid() != parent:
                break
            elif self.kind == "gpu":
                self.percents += busy()
        if not written:  # the process that started this one was killed
            self.look()
            self.write()


def begin(kind: str, file: str, source: str) -> Callable[[], None]:
    """Start the process, with this module's `source`; returns what makes it write `file`."""
    program = Path(tempfile.mkdtemp(prefix="session-")) / "kernelkit_watching.py"
    program.write_text(source, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-I", str(program), kind, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # an interrupt of the notebook is none of its
    )
    return functools.partial(ask, process)


def ask(process: Any) -> None:
    """Make the process write its file now; one that was killed writes none."""
    with contextlib.suppress(OSError):
        os.write(process.stdin.fileno(), b"\n")
        if select.select([process.stdout], [], [], ANSWER_SECONDS)[0]:
            process.stdout.readline()


if __name__ == "__main__":
    dev, proc = sys.argv[3:] or ["/dev", "/proc"]
    Watch(sys.argv[1], Path(sys.argv[2]), Path(dev), Path(proc)).run()
