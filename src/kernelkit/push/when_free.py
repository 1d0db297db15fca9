"""Wait until a session and enough of the week's hours are free, then push: `push --when-free`.

A push that waits stands in the ledger, with its plan frozen beside it, so later changes to the
sources do not change what is sent. Pushes to one kind of machine are made in the order of their
arrival, one after the other.

A command may be killed at any time. The same command takes up its push where it stands, and a
command that waits behind a push first does what is left to do for that one. Before a push or a
submission is sent again, it is looked for on Kaggle.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kernelkit.errors import (
    AcceleratorMismatchError,
    CapacityError,
    CredentialsError,
    DeadlineError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    ParameterError,
    PreflightError,
    RefusedError,
    StillRunningError,
    StorageError,
)
from kernelkit.kaggle.retries import Failure
from kernelkit.notebook.parameters import for_json
from kernelkit.project import Project
from kernelkit.push import wheels
from kernelkit.push.bundle.build import Bundle, Commit
from kernelkit.push.bundle.metadata import Metadata
from kernelkit.push.checks.findings import tell
from kernelkit.push.checks.on_kaggle import ask_kaggle
from kernelkit.push.ended import await_end
from kernelkit.push.ledger import Push, State
from kernelkit.push.plan import Plan
from kernelkit.push.push_context import PushContext
from kernelkit.push.ready import draft, make_ready, with_inputs
from kernelkit.push.request import PushRequest
from kernelkit.push.results import FAILURE, bring_home
from kernelkit.push.resume import refuse_active
from kernelkit.push.sent import Delivery, Sent, deliver, look_after_cut_off, take_up
from kernelkit.runs import claims
from kernelkit.terminal.events import WAITING, Event

WAITS = Event("waits")
FORMAT = 1  # of a frozen plan
UNSUBMITTED = "not submitted"  # complete, but its result is not submitted or scored yet
OVER = (State.COMPLETE, State.FAILED, State.STOPPED, State.REFUSED, State.SAVED, State.LOST)
# Errors that any further push would meet, too.
LASTING = (
    AcceleratorMismatchError,
    CredentialsError,
    DeadlineError,
    NetworkError,
    StillRunningError,
    StorageError,
)


def push_when_free(context: PushContext, plan: Plan) -> Path | None:
    """Enter a push, wait for its turn and for a session, send it, and bring its results home.

    Returns the folder; None if `kernelkit stop` cancelled the push. What waited before it
    and whose command is gone is carried out first; an error of that is told and does not stop this
    push.

    Without `wait`, does what is possible now and raises `StillRunningError` if anything is left.
    Raises what a push raises otherwise, except that it waits while Kaggle has no session or not
    enough hours, and `PreflightError` if an identical push ended badly.
    """
    wait = plan.request.wait
    if not plan.request.force:
        _refuse_ended_badly(context, plan)
    wheels.upload_missing(context, plan)
    own = _enter(context, plan)
    with (
        _alone(context, f"waiting with push {own.number}", wait=wait),
        _alone(context, f"pushing what waits for a {own.accelerator.upper()}", wait=wait),
    ):
        for push, earlier in _ahead(context, own):
            try:
                _carry_out(_context_of(context, earlier), push, earlier, wait=wait)
            except LASTING:
                raise
            except KernelkitError as error:
                words = f"{push.kernel}, which waited before this push: {error}"
                context.events(FAILURE, words, number=push.number)
        return _carry_out(context, own, plan, wait=wait)


def state_of(push: Push, plan: str) -> str:
    """The state of an unfinished push as a list shows it; `plan` is its frozen plan."""
    submits = json.loads(plan)["request"]["submit"] is not None
    if push.state == State.COMPLETE and submits and push.score is None:
        return UNSUBMITTED
    return push.state


def _enter(context: PushContext, plan: Plan) -> Push:
    """The ledger's entry for a push: an unfinished one of the same content, or a new one.

    With `force`, only one whose command is gone is taken up. Raises `ParameterError` if a new one
    is to put its files into a folder that is not empty.
    """
    ledger = context.ledger
    force = plan.request.force
    with context.alone("entering a push that waits"):
        for push, _ in ledger.unfinished():
            if push.content == plan.content and not (force and _is_attended(context, push)):
                return push
        if plan.request.output:
            claims.check_free(plan.request.output)
        drafted = draft(plan, rehearsal=context.events.rehearsal)
        push = ledger.begin(replace(drafted, state=State.WAITING), _frozen(plan))
    words = f"as push {push.number}, until a session and enough hours are free"
    context.events(WAITS, words, number=push.number, kernel=push.kernel)
    return push


def _refuse_ended_badly(context: PushContext, plan: Plan) -> None:
    """Raise `PreflightError` if the last identical push failed, was lost, or was stopped.

    A schedule would repeat it, and spend the week's hours.
    """
    pushes = context.ledger.of(str(plan.kernel))
    same = [push for push in pushes if push.version and push.content == plan.content]
    if same and same[-1].state in (State.FAILED, State.LOST, State.STOPPED):
        last = same[-1]
        raise PreflightError(
            f"identical to {last.reference} ({last.state}): {context.resuming(last)} looks at it "
            "again. Correct what ended it, or push anyway with --force"
        )


def _is_attended(context: PushContext, push: Push) -> bool:
    """Whether a command waits with this push."""
    with context.alone_if_free(f"waiting with push {push.number}") as free:
        return not free


@contextlib.contextmanager
def _alone(context: PushContext, doing: str, *, wait: bool) -> Iterator[None]:
    """Let one command at a time do this; without `wait`, another one's is a reason to stop."""
    if wait:
        with context.alone(doing):
            yield
        return
    with context.alone_if_free(doing) as free:
        if not free:
            raise StillRunningError(
                f"another command is {doing}, and this one does not wait for it"
            )
        yield


def _ahead(context: PushContext, own: Push) -> Iterator[tuple[Push, Plan]]:
    """Each unfinished push to the same kind of machine that was entered before, in order."""
    seen: set[str] = set()
    while True:  # a command may enter or stop one at any time
        first = None
        for push, plan in context.ledger.unfinished():
            same_kind = push.accelerator == own.accelerator
            if same_kind and push.pushed < own.pushed and push.pushed not in seen:
                first = push, _thawed(push, plan)
                break
        if first is None:
            return
        seen.add(first[0].pushed)
        yield first


def _context_of(context: PushContext, plan: Plan) -> PushContext:
    """The same connection for a push of another project."""
    own = replace(context, root=plan.project.root)
    own.kaggle = context.kaggle
    return own


def _carry_out(context: PushContext, entered: Push, plan: Plan, *, wait: bool) -> Path | None:
    """Send a push that was entered, unless that is done, and bring its results home.

    The plan is forgotten once nothing is left to do.
    """
    try:
        sent = _send_once_free(context, entered, plan, wait=wait)
        if sent is None:
            return None
        if not wait:
            refuse_active(context, sent.push)
        with context.saving(sent.push):
            return bring_home(context, await_end(context, sent)).folder
    finally:
        push = context.ledger.entry(entered)
        if push is None or _is_over(push, plan.request):
            context.ledger.finish(entered)


def _is_over(push: Push, request: PushRequest) -> bool:
    """Whether nothing is left to do for a push."""
    if push.state == State.COMPLETE and request.submit is not None:
        return push.score is not None
    return push.state in OVER


def _send_once_free(context: PushContext, entered: Push, plan: Plan, *, wait: bool) -> Sent | None:
    """Send a push once Kaggle has a session and the hours for it; None if it was cancelled."""
    clock, patience = context.timing.clock, context.timing.patience
    pause = patience.slow_poll
    told = ""
    last_answer = clock.now()
    heard = False  # whether Kaggle has answered at all
    while True:
        try:
            return _send_now(context, entered, plan)
        except (CapacityError, KernelBusyError) as error:
            reason = str(error)
            last_answer = clock.now()
            heard = True
        except NetworkError as error:
            # What worked before is no wrong setting, but a network that changes.
            lasting = isinstance(error, Failure) and not error.is_transient and not heard
            if lasting or not wait or clock.now() - last_answer > patience.silence:
                raise
            reason = str(error)
        except LASTING:
            raise
        except KernelkitError:
            _refuse(context, entered)
            raise
        message = f"push {entered.number} of {entered.kernel} waits: {reason}"
        if not wait:
            raise StillRunningError(message)
        if reason != told:
            context.events(WAITING, message, number=entered.number)
        told = reason
        clock.sleep(pause)
        pause = min(patience.longest, 2 * pause)


def _send_now(context: PushContext, entered: Push, plan: Plan) -> Sent | None:
    """Send a push, unless that is done already; raises what prevents it for now."""
    with context.alone_with(plan.kernel):  # the findings remain valid until it is sent
        look_after_cut_off(context, plan.kernel)
        push = context.ledger.entry(entered)
        if push is None or push.state == State.STOPPED:
            context.events(WAITS, f"no longer: push {entered.number} was cancelled")
            return None
        if push.version:
            return Sent.earlier(push, plan.bundle.text, Delivery.of(plan.request))
        if push.state == State.REFUSED:
            raise RefusedError(
                f"push {push.number} of {push.kernel} was refused when another command sent it: "
                "push again"
            )
        earlier = None if plan.request.force else _identical(context, plan)
        if earlier:
            context.ledger.withdraw(push)
            return earlier
        tell(context.events, ask_kaggle(context, plan))
        ready = make_ready(context, plan)
        inputs = dict(ready.plan.inputs)
        push = context.ledger.update(push, state=State.SENDING, inputs=inputs)
        return deliver(context, ready.plan, push, waits=True)


def _identical(context: PushContext, plan: Plan) -> Sent | None:
    """An identical earlier push that was not entered to wait, if there is one."""
    try:
        return take_up(context, with_inputs(context, plan), latest=False)
    except PreflightError:  # what it reads is not complete yet
        return None


def _refuse(context: PushContext, entered: Push) -> None:
    """Mark a push that was not sent as refused."""
    push = context.ledger.entry(entered)
    if push and push.state == State.WAITING:
        context.ledger.update(push, state=State.REFUSED)


def _frozen(plan: Plan) -> str:
    """What is needed to send a plan later, as JSON."""
    request, project = plan.request, plan.project
    places = {name: str(path) for name, path in plan.bundle.places.items()}
    frozen = {
        "format": FORMAT,
        "metadata": {"path": str(plan.metadata.path), "values": plan.metadata.values},
        "bundle": asdict(plan.bundle)
        | {"parameters": for_json(plan.bundle.parameters), "places": places},
        "parameters": for_json(plan.parameters),
        "project": {
            "root": str(project.root),
            "wheels": list(project.wheels),
            "title": project.title,
            "reserve": dict(project.reserve),
        },
        "request": {
            "timeout": request.timeout,
            "output": str(request.output.absolute()) if request.output else None,
            "continues": request.continues,
            "force": request.force,
            "submit": request.submit,
            "stays": list(request.stays),
        },
    }
    return json.dumps(frozen)


def _thawed(push: Push, text: str) -> Plan:
    """The plan that was frozen; raises `ParameterError` for another version's."""
    try:
        frozen: dict[str, Any] = json.loads(text)
        if frozen["format"] != FORMAT:
            raise ValueError
        project = Project(**frozen["project"] | {"root": Path(frozen["project"]["root"])})
        path = Path(frozen["metadata"]["path"])
        wishes = frozen["request"]
        output = wishes.pop("output")
        request = PushRequest(
            path, project, output=Path(output) if output else None, when_free=True, **wishes
        )
        packed = frozen["bundle"]
        packed["commit"] = Commit(*packed["commit"])
        packed["places"] = {name: Path(place) for name, place in packed["places"].items()}
        bundle = Bundle(**packed)
        metadata = Metadata(path, frozen["metadata"]["values"])
        return Plan(request, metadata, bundle, frozen["parameters"])
    except (ValueError, KeyError, TypeError):
        raise ParameterError(
            f"push {push.number}, which waits, was entered by another version of the kit: take it "
            f"out with kernelkit stop {push.number}, and push it again"
        ) from None
