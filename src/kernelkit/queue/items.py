"""Queued pushes: one JSON file each, in `runs/.queue/`, with all that the push will need.

A later change of the sources does not change what was queued. A file never changes: how far its
push has come stands in the ledger, whose lines name the item by its `added`.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.bundle.build import Bundle
from kernelkit.bundle.packages import Commit
from kernelkit.errors import ParameterError
from kernelkit.plans.metadata import Metadata
from kernelkit.plans.plan import Plan
from kernelkit.project import Project
from kernelkit.terminal import invocation
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.ledger import Ledger, Push

FOLDER = ".queue"
WAITING = "waiting"
UNSUBMITTED = "not submitted"  # complete, and its result is still to be entered or scored
OVER = (ledgers.COMPLETE, ledgers.FAILED, ledgers.STOPPED)


@dataclass(frozen=True)
class QueuedPush:
    """One queued push: its number in the list, its identity `added`, and its frozen plan.

    `force`: push though an identical one was complete before; `submit`: the message with which its
    result is entered; `continues`: go on from what the kernel's last version left.
    """

    number: int
    added: str
    plan: Plan
    output: Path | None = None
    force: bool = False
    submit: str | None = None
    continues: bool = False

    def push_in(self, ledger: Ledger, *, rehearsal: bool) -> Push | None:
        """The last push that was made of it, one with a version first; None before any."""
        mine = [p for p in ledger.of("", rehearsal=rehearsal) if p.queued == self.added]
        arrived = [push for push in mine if push.version]
        return next(reversed(arrived or mine), None)

    def state_in(self, ledger: Ledger, *, rehearsal: bool) -> str:
        """The state: `WAITING`, `UNSUBMITTED`, or the state in the ledger."""
        push = self.push_in(ledger, rehearsal=rehearsal)
        if push is None or (not push.version and push.state != ledgers.SENDING):
            return WAITING
        if push.state == ledgers.COMPLETE and self.submit is not None and push.score is None:
            return UNSUBMITTED
        return push.state

    def is_over(self, ledger: Ledger, *, rehearsal: bool) -> bool:
        """Whether there is nothing more to do for it."""
        state = self.state_in(ledger, rehearsal=rehearsal)
        return state in (*OVER, ledgers.REFUSED, ledgers.LOST)


class Queue:
    """The queued pushes of a repository, in the order in which they were added."""

    def __init__(self, runs: Path) -> None:
        self.folder = Path(runs) / FOLDER

    def items(self) -> list[QueuedPush]:
        """All items, finished ones too; files that cannot be read are passed over."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found.append(_read(json.loads(path.read_text(encoding="utf-8"))))
        return found

    def add(
        self,
        planned: Plan,
        output: Path | None,
        *,
        force: bool,
        submit: str | None = None,
        continues: bool = False,
    ) -> QueuedPush:
        """Put a push at the end; returns it with its number."""
        with files.locked(self.folder / "lock"):
            numbers = [int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()]
            added = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
            number = max(numbers, default=0) + 1
            item = QueuedPush(number, added, planned, output, force, submit, continues)
            files.write_text(self._path(number), json.dumps(_written(item)))
        return item

    def find(self, number: int) -> QueuedPush:
        """The item of this number; raises `ParameterError` where there is none."""
        for item in self.items():
            if item.number == number:
                return item
        raise ParameterError(
            f"the queue holds no {number}: see the numbers with {invocation.command('queue')} list"
        )

    def __contains__(self, item: QueuedPush) -> bool:
        """Whether the item was not removed."""
        return self._path(item.number).is_file()

    def remove(self, item: QueuedPush) -> None:
        """Forget an item; what the ledger has of it stays."""
        self._path(item.number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"


def _written(item: QueuedPush) -> dict[str, Any]:
    plan = item.plan
    return {
        "number": item.number,
        "added": item.added,
        "output": None if item.output is None else str(item.output.absolute()),
        "force": item.force,
        "submit": item.submit,
        "continues": item.continues,
        "metadata": {"path": str(plan.metadata.path), "values": dict(plan.metadata.values)},
        "bundle": asdict(plan.bundle),
        "project": {
            "root": str(plan.project.root),
            "catalogue": plan.project.catalogue,
            "wheels": list(plan.project.wheels),
            "title": plan.project.title,
        },
        "parameters": dict(plan.parameters),
        "defaults": dict(plan.defaults),
        "timeout_minutes": plan.timeout_minutes,
    }


def _read(written: Mapping[str, Any]) -> QueuedPush:
    project = written["project"]
    plan = Plan(
        metadata=Metadata(Path(written["metadata"]["path"]), written["metadata"]["values"]),
        bundle=_bundle(written["bundle"]),
        project=Project(
            Path(project["root"]),
            catalogue=project["catalogue"],
            wheels=tuple(project.get("wheels", ())),
            title=project.get("title", ""),
        ),
        parameters=written["parameters"],
        timeout_minutes=written["timeout_minutes"],
        defaults=written["defaults"],
    )
    output = written["output"]
    return QueuedPush(
        written["number"],
        written["added"],
        plan,
        None if output is None else Path(output),
        written["force"],
        written.get("submit"),
        written.get("continues", False),
    )


def _bundle(written: Mapping[str, Any]) -> Bundle:
    bundle = Bundle(**written)
    return replace(
        bundle,
        commit=Commit(**written["commit"]),
        packages=tuple(bundle.packages),
        texts=tuple((name, text) for name, text in bundle.texts),
        traces=tuple(bundle.traces),
        broken=tuple(bundle.broken),
        unnamed=tuple(bundle.unnamed),
    )
