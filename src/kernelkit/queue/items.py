"""Queued pushes: one JSON file per push, in `runs/.queue/`, with everything that it needs.

Changing the sources later does not change a queued push. A file never changes: the progress of its
push is in the ledger, whose lines refer to the item by its `added`.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
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
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

FOLDER = ".queue"
VERSION = 1  # the format of the files
WAITING = "waiting"
UNSUBMITTED = "not submitted"  # complete, but its result is not submitted or scored yet
OVER = (ledgers.COMPLETE, ledgers.FAILED, ledgers.STOPPED, ledgers.REFUSED, ledgers.LOST)


@dataclass(frozen=True)
class QueuedPush:
    """One queued push: its number in the list, its identity `added`, and its frozen plan.

    `force`: push even if an identical push is complete; `submit`: the message of its submission;
    `continues`: continue from the outputs of the kernel's last version.
    """

    number: int
    added: str
    plan: Plan
    output: Path | None = None
    force: bool = False
    submit: str | None = None
    continues: bool = False

    def push_in(self, context: PushContext) -> Push | None:
        """Its last push, preferably one with a version; None if there is none yet."""
        pushes = context.ledger.of("", rehearsal=context.events.rehearsal)
        mine = [push for push in pushes if push.queued == self.added]
        arrived = [push for push in mine if push.version]
        return next(reversed(arrived or mine), None)

    def state_in(self, context: PushContext) -> str:
        """The state: `WAITING`, `UNSUBMITTED`, or the state in the ledger."""
        push = self.push_in(context)
        if push is None or (not push.version and push.state != ledgers.SENDING):
            return WAITING
        if push.state == ledgers.COMPLETE and self.submit is not None and push.score is None:
            return UNSUBMITTED
        return push.state


class Queue:
    """The queued pushes of a repository, in the order in which they were added."""

    def __init__(self, runs: Path) -> None:
        self.folder = Path(runs) / FOLDER

    def items(self) -> list[QueuedPush]:
        """All items, including finished ones.

        Raises `ParameterError` for a file that is damaged or from another version of the kit.
        """
        items = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                items.append(_read(json.loads(path.read_text(encoding="utf-8"))))
            except FileNotFoundError:
                continue  # another command has just removed it
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                raise ParameterError(
                    f"{path} is damaged, or was written by another version of the kit: delete it "
                    "and queue that push again"
                ) from None
        return items

    def add(self, plan: Plan, output: Path | None, **options: Any) -> QueuedPush:
        """Append a push, with these options of a `QueuedPush`; returns it."""
        with files.locked(self.folder / "lock"):
            numbers = [int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()]
            added = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
            place = output and output.absolute()
            item = QueuedPush(max(numbers, default=0) + 1, added, plan, place, **options)
            content = {"version": VERSION, **asdict(item)}
            files.write_text(self._path(item.number), json.dumps(content, default=str))
        return item

    def find(self, number: int) -> QueuedPush:
        """The item with this number; raises `ParameterError` if there is none."""
        for item in self.items():
            if item.number == number:
                return item
        raise ParameterError(
            f"the queue has no {number}: see the numbers with {invocation.command('queue')} list"
        )

    def __contains__(self, item: QueuedPush) -> bool:
        """Whether the item is still in the queue."""
        return self._path(item.number).is_file()

    def remove(self, item: QueuedPush) -> None:
        """Remove an item; its lines in the ledger are kept."""
        self._path(item.number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"


def _read(item: dict[str, Any]) -> QueuedPush:
    """The item in a file, with the part of its project that a push needs.

    Raises `ValueError` for another format.
    """
    if item.pop("version") != VERSION:
        raise ValueError
    plan, output = item["plan"], item["output"]
    project = {name: plan["project"][name] for name in ("catalogue", "title")}
    wheels = tuple(plan["project"]["wheels"])
    metadata = plan["metadata"]
    plan = Plan(
        Metadata(**metadata | {"path": Path(metadata["path"])}),
        Bundle(**plan["bundle"] | {"commit": Commit(**plan["bundle"]["commit"])}),
        Project(Path(plan["project"]["root"]), wheels=wheels, **project),
        plan["parameters"],
        plan["timeout_minutes"],
        defaults=plan["defaults"],
    )
    return QueuedPush(**item | {"plan": plan, "output": output and Path(output)})
