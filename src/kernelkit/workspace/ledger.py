"""The ledger of pushes: one JSON line per push, in `runs/pushes.jsonl`.

    {"pushed": "2026-11-02T10:15:00+00:00", "kernel": "me/notebook", "version": 3, …}

A line is written before anything is sent, and replaced as the push proceeds, so that the last known
state survives a crash of this machine.
"""

import datetime
import json
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.kaggle_api.client import Kernel

# The states of a push.
SENDING = "sending"  # SaveKernel was sent, and has not been answered
REFUSED = "refused"
QUEUED = "queued"
RUNNING = "running"
UNFETCHED = "not fetched"  # the run is complete, but not all outputs are downloaded
COMPLETE = "complete"
FAILED = "failed"
STOPPED = "stopped"  # its kernel was deleted while it ran
NOT_SCORED = "not scored"  # instead of a score: there was nothing to submit, or Kaggle refused it
LOST = "lost"  # it is unknown whether it arrived, or where its session is


@dataclass(frozen=True)
class Push:
    """One push in the ledger; `content` identifies what it runs, and on which inputs and
    machine."""

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
    number: str = ""  # random and unique to this push; see `pushes.proof`
    minutes_queued: float | None = None
    minutes_run: float | None = None
    score: str | None = None
    folder: str | None = None
    rehearsal: bool = False
    bundle: str = ""  # the bundle's content hash, which is also in its first cell
    queued: str = ""  # the identity of the queued push that it came from
    submission: int | None = None  # its number in the competition, once submitted
    submissions_before: list[int] | None = None  # those that existed before submitting
    message: str = ""  # of the submission
    inputs: dict[str, int] = field(default_factory=dict)  # versions of own kernel sources
    stays: list[str] = field(default_factory=list)  # patterns of outputs to leave on Kaggle
    estimate: dict[str, Any] = field(default_factory=dict)  # of its step; see `checks.tpu`

    @property
    def name(self) -> Kernel:
        """The kernel's name on Kaggle."""
        return Kernel.of(self.kernel)

    @property
    def reference(self) -> str:
        """`owner/slug/N`, as `kernelkit resume` accepts it."""
        return f"{self.kernel}/{self.version}" if self.version else self.kernel


class Ledger:
    """The pushes of a repository, in the order in which they started.

    `clear` removes the secrets from a text; with `rehearsal`, `of` and `last` see only rehearsals,
    without it only pushes to Kaggle.
    """

    def __init__(
        self, path: Path, clear: Callable[[str], str] = str, *, rehearsal: bool = False
    ) -> None:
        self.path, self._clear, self._rehearsal = Path(path), clear, rehearsal

    def pushes(self) -> list[Push]:
        """All pushes, oldest first; unreadable lines are skipped."""
        return [push for _, push in self._entries() if push]

    def of(self, kernel: str = "") -> list[Push]:
        """The pushes of this kernel, or of any, oldest first."""
        ours = [push for push in self.pushes() if push.rehearsal == self._rehearsal]
        return [push for push in ours if kernel in ("", push.kernel)]

    def last(self, kernel: str = "") -> Push | None:
        """The latest push that got a version, of this kernel or of any."""
        return next((push for push in reversed(self.of(kernel)) if push.version), None)

    def find(self, kernel: str, version: int) -> Push | None:
        """The push of this version, or None if the ledger does not have it."""
        named = (p for p in reversed(self.pushes()) if (p.kernel, p.version) == (kernel, version))
        return next(named, None)

    def begin(self, push: Push) -> Push:
        """Write a new push with the current time and a new random number; returns it as written.

        For a queued item, this replaces the lines of its earlier pushes that Kaggle refused.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        begun = replace(push, pushed=now, number=secrets.token_hex(8))
        with self._locked():
            lines = [line for line, old in self._entries() if not (old and _is_retry(old, begun))]
            self._write([*lines, _line(begun)])
        return begun

    def update(self, push: Push, **changes: Any) -> Push:
        """Change these fields in a push's line; returns the new push."""
        changed = replace(push, **changes)
        with self._locked():
            lines = [
                _line(changed) if old and old.pushed == push.pushed else line
                for line, old in self._entries()
            ]
            self._write(lines if _line(changed) in lines else [*lines, _line(changed)])
        return changed

    def _entries(self) -> list[tuple[str, Push | None]]:
        """Each line, and the push in it."""
        if not self.path.is_file():
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return [(line, _read(line)) for line in text.split("\n") if line.strip()]

    def _write(self, lines: list[str]) -> None:
        files.write_text(self.path, self._clear("".join(f"{line}\n" for line in lines)))

    def _locked(self) -> AbstractContextManager[None]:
        """Serialise the changes that two commands make at the same time."""
        return files.locked(self.path.with_suffix(".lock"))


def _is_retry(old: Push, push: Push) -> bool:
    """Whether Kaggle refused `old`, and `push` is of the same queued item."""
    refused = old.state == REFUSED and old.version is None
    return refused and old.queued == push.queued != ""


def _line(push: Push) -> str:
    return json.dumps(asdict(push), ensure_ascii=False)


def _read(line: str) -> Push | None:
    names = {entry.name for entry in fields(Push)}
    try:
        values = json.loads(line)
        return Push(**{name: value for name, value in values.items() if name in names})
    except (ValueError, TypeError, AttributeError):
        return None
