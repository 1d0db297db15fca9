"""The ledger of pushes: one JSON line each, in `runs/pushes.jsonl`.

    {"pushed": "2026-11-02T10:15:00+00:00", "kernel": "me/notebook", "version": 3, …}

A line is written before anything is sent, and replaced whole as the push goes on: after a crash of
this machine the last known state is on disk.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.kaggle_api.answers import Kernel

# The states of a push.
SENDING = "sending"  # SaveKernel is sent, its answer has not come
REFUSED = "refused"
QUEUED = "queued"
RUNNING = "running"
UNFETCHED = "not fetched"  # its run is complete, and some of its outputs are not at home
COMPLETE = "complete"
FAILED = "failed"
STOPPED = "stopped"  # its kernel was deleted while its session was alive
NOT_SCORED = "not scored"  # in place of a score: there was nothing to submit, or it was refused
LOST = "lost"  # not known whether it arrived, or where its session is


@dataclass(frozen=True)
class Push:
    """One push as the ledger keeps it; `content` identifies what it runs and on what."""

    kernel: str
    content: str
    git: str
    accelerator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout_minutes: float | None = None
    competition: str | None = None
    version: int | None = None
    state: str = SENDING
    pushed: str = ""
    number: str = ""  # drawn for this push alone; see `pushes.proof`
    minutes_queued: float | None = None
    minutes_run: float | None = None
    score: str | None = None
    folder: str | None = None
    rehearsal: bool = False
    bundle: str = ""  # the bundle's own content hash, which its first cell states too
    queued: str = ""  # the identity of the queued push that it was made of
    submission: int | None = None  # its number in the competition, once it was entered
    submissions_before: list[int] | None = None  # those with numbers when the entering began
    message: str = ""  # of the submission
    resent_after: int | None = None  # the version before a push that was sent more than once
    inputs: dict[str, int] = field(default_factory=dict)  # versions of its own kernel sources
    stays: list[str] = field(default_factory=list)  # patterns of outputs that are left at Kaggle

    @property
    def name(self) -> Kernel:
        """The kernel's name at Kaggle."""
        return Kernel.of(self.kernel)

    @property
    def reference(self) -> str:
        """`owner/slug/N`, as `kernelkit resume` takes it."""
        return f"{self.kernel}/{self.version}" if self.version else self.kernel


class Ledger:
    """The pushes of a repository, in the order in which they were begun."""

    def __init__(self, path: Path, clear: Callable[[str], str] = str) -> None:
        """The ledger in the file `path`; `clear` takes the secrets out of a line."""
        self.path, self._clear = Path(path), clear

    def pushes(self) -> list[Push]:
        """All pushes, oldest first; lines that cannot be read are passed over."""
        return [push for push in map(_read, self._lines()) if push]

    def begin(self, push: Push) -> Push:
        """Write a new push with the present time and a number of its own; returns it as written.

        The push of a queued item replaces the lines of its earlier pushes that Kaggle refused.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        stamped = replace(push, pushed=now, number=secrets.token_hex(8))
        with self._locked():
            lines = [line for line in self._lines() if not _refused_before(line, stamped)]
            self._write([*lines, _line(stamped)])
        return stamped

    def update(self, push: Push, **changes: Any) -> Push:
        """Replace a push's line by one with these fields changed; returns the new push."""
        changed = replace(push, **changes)
        with self._locked():
            lines = self._lines()
            same = [(read := _read(line)) and read.pushed == push.pushed for line in lines]
            kept = [
                _line(changed) if mine else line for mine, line in zip(same, lines, strict=True)
            ]
            self._write(kept if any(same) else [*kept, _line(changed)])
        return changed

    def last(self, *, rehearsal: bool, kernel: str = "") -> Push | None:
        """The latest push that got a version, of this kernel or of any."""
        latest = [push for push in self.of(kernel, rehearsal=rehearsal) if push.version]
        return latest[-1] if latest else None

    def of(self, kernel: str, *, rehearsal: bool) -> list[Push]:
        """The pushes of this kernel (of any for an empty name), oldest first."""
        return [
            push
            for push in self.pushes()
            if push.rehearsal == rehearsal and (not kernel or push.kernel == kernel)
        ]

    def find(self, kernel: str, version: int) -> Push | None:
        """The push of this version, if this ledger knows it."""
        for push in reversed(self.pushes()):
            if (push.kernel, push.version) == (kernel, version):
                return push
        return None

    def _lines(self) -> list[str]:
        if not self.path.is_file():
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.split("\n") if line.strip()]

    def _write(self, lines: list[str]) -> None:
        files.write_text(self.path, self._clear("".join(f"{line}\n" for line in lines)))

    def _locked(self) -> AbstractContextManager[None]:
        """Two pushes at a time change the file one after the other."""
        return files.locked(self.path.with_suffix(".lock"))


def _refused_before(line: str, push: Push) -> bool:
    """Whether the line is of the same queued push, and nothing came of it."""
    read = _read(line) if push.queued and push.queued in line else None
    return read is not None and (read.queued, read.state, read.version) == (
        push.queued,
        REFUSED,
        None,
    )


def _line(push: Push) -> str:
    return json.dumps(asdict(push), ensure_ascii=False)


def _read(line: str) -> Push | None:
    names = {entry.name for entry in fields(Push)}
    try:
        values = json.loads(line)
        return Push(**{name: value for name, value in values.items() if name in names})
    except (ValueError, TypeError, AttributeError):
        return None
