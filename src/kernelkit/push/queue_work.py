"""Work through the queue: one push after the other, each once a session and hours are free.

This process may be killed at any time, because the ledger records what was done: before a push or
a submission is sent again, it is looked for on Kaggle; a push that arrived is waited for and
fetched.
"""

from dataclasses import replace
from typing import Unpack

from kernelkit.errors import (
    AcceleratorMismatchError,
    CapacityError,
    CredentialsError,
    DeadlineError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    ParameterError,
    StillRunningError,
    StorageError,
)
from kernelkit.kaggle.context import CommandOptions, Push, PushContext, in_project
from kernelkit.push.checks.preflight import check_account
from kernelkit.push.follow import Run
from kernelkit.push.plan import Plan
from kernelkit.push.queue_items import OVER, Queue, QueuedPush
from kernelkit.push.send import draft, look_after_cut_off, prepare, send

# Errors that any further push would meet, too.
LASTING = (
    *(AcceleratorMismatchError, CredentialsError, DeadlineError),
    *(NetworkError, StillRunningError, StorageError),
)


def work_off(*, wait: bool = True, **options: Unpack[CommandOptions]) -> None:
    """Push the queued items in order, wait for each and fetch its files, until all are done.

    wait   whether to wait for sessions, hours and runs; otherwise do what is possible now

    With `local` the queue is only rehearsed, and its state for Kaggle does not change.

    A push that fails does not stop the next ones; the first error is raised at the end. Raises
    `StillRunningError` if `wait` is false and something waits or runs. Errors that prevent any
    further push are raised at once: those of `LASTING`.
    """
    if options.get("local") and not wait:
        raise ParameterError("a rehearsal's Kaggle stops when the command ends: drop --no-wait")
    context = in_project(options)
    tried: list[str] = []
    failures: list[KernelkitError] = []
    with context.ending(), context.alone("works on this queue"):
        while item := _next(context, tried):  # other commands may add items at any time
            tried.append(item.added)
            plan = item.plan
            own = replace(
                context, catalogue=plan.catalogue, root=plan.project.root, owner=plan.account
            )
            try:
                with own.connect():
                    _take_turn(own, item, wait=wait)
            except LASTING:
                raise
            except KernelkitError as error:
                failures.append(error)
                context.events("failure", f"queued push {item.number}: {error}", number=item.number)
        if failures:
            raise failures[0]


def _next(context: PushContext, tried: list[str]) -> QueuedPush | None:
    """The first untried item with something to do."""
    for item in Queue(context.runs).items():
        if item.added not in tried and item.state_in(context) not in OVER:
            return item
    return None


def _take_turn(context: PushContext, item: QueuedPush, *, wait: bool) -> None:
    """Push the item, unless that is done already, and follow its run."""
    push = item.push_in(context)
    if push is None or not push.version:
        push = _send(context, item, wait=wait)
    if push is None:
        return
    if not wait:
        status = context.kaggle.status(push.name, push.version)
        if status and status.alive:
            raise StillRunningError(
                f"queued push {item.number}, {push.reference}, is still {status.state}: reconnect "
                "with kernelkit queue run"
            )
    run = Run(context, push, item.plan.bundle.text)
    run.follow(item.output, item.submit, once=True)


def _send(context: PushContext, item: QueuedPush, *, wait: bool) -> Push | None:
    """Push the item once a session is free; None if it was removed while it waited."""
    planned = prepare(context, item.plan, continues=item.continues)
    clock, patience = context.timing.clock, context.timing.patience
    pause, reported, last_answer = patience.slow_poll, "", clock.now()
    while item.added in {queued.added for queued in Queue(context.runs).items()}:
        try:
            return _send_now(context, item, planned)
        except (CapacityError, KernelBusyError) as error:
            reason, last_answer = str(error), clock.now()
        except NetworkError as error:
            if not wait or clock.now() - last_answer > patience.silence:
                raise
            reason = str(error)
        message = f"queued push {item.number} waits: {reason}"
        if not wait:
            raise StillRunningError(message)
        if reason != reported:
            context.events("waiting", message, number=item.number)
        reported = reason
        clock.sleep(pause)
        pause = min(patience.longest, 2 * pause)
    return None


def _send_now(context: PushContext, item: QueuedPush, planned: Plan) -> Push:
    """Push the item, unless that is done already; raises what prevents the push for now."""
    with context.alone_with(planned.kernel):  # the checks remain valid until it is sent
        look_after_cut_off(context, planned.kernel)
        push = item.push_in(context)
        if push and push.version:
            return push
        submits = item.submit is not None
        quota = check_account(context, planned, submits=submits)
        if quota and quota.left < planned.hours:
            raise CapacityError(
                f"{quota.remaining(planned.kind)} and the run may take {planned.hours:.1f}: it "
                "waits for Saturday 00:00 UTC. A run limited with --timeout MINUTES may fit sooner"
            )
        push = replace(draft(context, planned), queued=item.added)
        return send(context, planned, push, force=item.force)
