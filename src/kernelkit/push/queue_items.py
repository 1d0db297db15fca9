"""Queued pushes: one JSON file per push, in `runs/.queue/`, with everything that it needs.

Changing the sources later does not change a queued push. A file never changes: the progress of its
push is in the ledger, whose lines refer to the item by its `added`.
"""

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from kernelkit import files
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.kaggle.context import CommandOptions, Push, PushContext, State, in_project
from kernelkit.notebook.parameters import Overrides
from kernelkit.project import Project
from kernelkit.push import wheels
from kernelkit.push.bundle.build import Bundle, Commit
from kernelkit.push.bundle.metadata import Metadata
from kernelkit.push.checks import compiled as tpu
from kernelkit.push.checks import preflight
from kernelkit.push.checks.inputs import PlanOptions
from kernelkit.push.plan import Plan
from kernelkit.runs import claims

FOLDER = ".queue"
VERSION = 1  # the format of the files
WAITING = "waiting"
UNSUBMITTED = "not submitted"  # complete, but its result is not submitted or scored yet
OVER = (State.COMPLETE, State.FAILED, State.STOPPED, State.REFUSED, State.LOST)


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
        pushes = context.ledger.of()
        mine = [push for push in pushes if push.queued == self.added]
        arrived = [push for push in mine if push.version]
        return next(reversed(arrived or mine), None)

    def state_in(self, context: PushContext) -> str:
        """The state: `WAITING`, `UNSUBMITTED`, or the state in the ledger."""
        push = self.push_in(context)
        if push is None or (not push.version and push.state != State.SENDING):
            return WAITING
        if push.state == State.COMPLETE and self.submit is not None and push.score is None:
            return UNSUBMITTED
        return push.state

    @property
    def words(self) -> str:
        """A description of it: notebook, machine, time limit, and given parameters."""
        metadata, minutes = self.plan.metadata, self.plan.timeout_minutes
        given = [f"{name}={value}" for name, value in self.plan.bundle.parameters.items()]
        limit = [] if minutes is None else [f"for at most {minutes:g} min"]
        words = [metadata.code_file.name, "on", metadata.machine.words, *limit, *given]
        more = ", continues the last run" * self.continues
        return " ".join(words) + more + ", to be submitted" * (self.submit is not None)


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
                items.append(_read(json.loads(path.read_text("utf-8"))))
            except FileNotFoundError:
                continue  # another command has just removed it
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                raise ParameterError(
                    f"{path} is damaged, or was written by another version of the kit: delete it "
                    "and queue that push again"
                ) from None
        return items

    def add(self, plan: Plan, **options: Any) -> QueuedPush:
        """Append a push, with these options of a `QueuedPush`; returns it."""
        with files.locked(self.folder / "lock"):
            numbers = [int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()]
            added = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
            item = QueuedPush(max(numbers, default=0) + 1, added, plan, **options)
            content = {"version": VERSION, **asdict(item)}
            files.write_text(self.path(item), json.dumps(content, default=str))
        return item

    def path(self, item: QueuedPush) -> Path:
        """The file of an item; the number of a removed one may be given to another."""
        return self.folder / f"{item.number:06d}.json"


def _read(item: dict[str, Any]) -> QueuedPush:
    """The item in a file, with the part of its project that a push needs.

    Raises `ValueError` for another format.
    """
    if item.pop("version") != VERSION:
        raise ValueError
    plan, output = item["plan"], item["output"]
    metadata, bundle, project = plan["metadata"], plan["bundle"], plan["project"]
    plan["metadata"] = Metadata(**metadata | {"path": Path(metadata["path"])})
    plan["bundle"] = Bundle(**bundle | {"commit": Commit(*bundle["commit"])})
    names = {name: project[name] for name in ("catalogue", "title")}
    plan["project"] = Project(Path(project["root"]), wheels=tuple(project["wheels"]), **names)
    return QueuedPush(**item | {"plan": Plan(**plan), "output": output and Path(output)})


def add(
    notebook: Path | None = None,
    parameters: Overrides = (),
    **options: Unpack[PlanOptions],
) -> int:
    """Run the offline checks of a push, freeze it and append it to the queue.

    `force` queues a push again that is already queued or complete; `once` does nothing if the same
    push is in the queue, waiting or finished. Returns its number. Raises what `plan.make` raises,
    `PreflightError`, and `DoesNotFitError`.
    """
    output = options.get("output")
    context = in_project(options, options.get("metadata") or notebook, PlanOptions)
    if output:
        claims.check_free(output)
    plan, findings = preflight.plan_and_check(notebook, parameters, options)
    tpu.before_push(context, plan, findings, compile_now=False)
    preflight.report(context, findings)
    wheels.find(context, plan)  # now, not when its turn comes
    queue, force = Queue(context.runs), options.get("force", False)
    for item in queue.items() if not force else ():
        if item.plan.content != plan.content:
            continue
        state = item.state_in(context)
        if options.get("once"):
            words = f"{item.number}: the same push, which is {state}"
            context.events("queued", words, number=item.number)
            return item.number
        if state == WAITING:
            raise PreflightError(
                f"identical to the queued push {item.number}: add it anyway with --force"
            )
    item = queue.add(
        plan,
        output=output and output.absolute(),
        force=force,
        submit=options.get("submit"),
        continues=options.get("continues", False),
    )
    words = f"{item.number}: {item.words}. Push the queued items with: kernelkit queue run"
    context.events("queued", words, number=item.number)
    return item.number


def listing(**options: Unpack[CommandOptions]) -> list[tuple[int, str]]:
    """Report the state of each item, in order; returns (number, state) of each."""
    context = in_project(options)
    states = []
    for item in Queue(context.runs).items():
        state, push = item.state_in(context), item.push_in(context)
        reference = push.reference if push and push.version else ""
        words = "  ".join(filter(None, [str(item.number), state, reference, item.words]))
        context.events("status", words, number=item.number, state=state, push=reference)
        states.append((item.number, state))
    if not states:
        context.events("status", "the queue is empty")
    return states


def remove(numbers: Sequence[int], **options: Unpack[CommandOptions]) -> None:
    """Remove items; raises `ParameterError`, removing none, if the queue lacks one of them.

    The ledger's lines about their pushes are kept, and a session that has begun goes on.
    """
    context = in_project(options)
    queue = Queue(context.runs)
    items = {item.number: item for item in queue.items()}
    if missing := sorted(set(numbers) - set(items)):
        raise ParameterError(
            f"the queue has no {missing[0]}: see the numbers with kernelkit queue list"
        )
    for number in numbers:
        queue.path(items[number]).unlink(missing_ok=True)
        context.events("removed", f"{number}: {items[number].words}", number=number)
