"""Work through the queue: one push after the other, each once a session and hours are free.

This process may be killed at any time, because the ledger records what was done: before a push or
a submission is sent again, it is looked for on Kaggle; a push that arrived is waited for and
fetched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from kernelkit.checks import account
from kernelkit.errors import (
    CapacityError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    OutputsError,
    ParameterError,
    PreflightError,
    RefusedError,
    RunFailedError,
    StillRunningError,
)
from kernelkit.kaggle_api.client import Kaggle, Quota
from kernelkit.plans.plan import Plan
from kernelkit.pushes.follow import follow
from kernelkit.pushes.send import look_after_cut_off, prepare, send
from kernelkit.queue.items import OVER, Queue, QueuedPush
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push

# Errors that end one push but do not affect the next one.
PUSH_ERRORS = (PreflightError, RefusedError, RunFailedError, OutputsError, ParameterError)


def work_off(
    *,
    wait: bool = True,
    **options: Unpack[CommandOptions],
) -> None:
    """Push the queued items in order, wait for each and fetch its files, until all are done.

    wait   whether to wait for sessions, hours and runs; otherwise do what is possible now

    With `local` the queue is only rehearsed, and its state for Kaggle does not change.

    A push that fails does not stop the next ones; the first error is raised at the end. Raises
    `StillRunningError` if `wait` is false and something waits or runs. Errors that prevent any
    further push are raised at once: `CredentialsError`, `NetworkError`, `DeadlineError`.
    """
    if options.get("local") and not wait:
        raise ParameterError("a rehearsal's Kaggle stops when the command ends: drop --no-wait")
    context = in_project(options)
    tried: list[QueuedPush] = []
    failures: list[KernelkitError] = []
    with context.alone("queue", "works on this queue"):
        while item := _next(context, tried):
            tried.append(item)
            try:
                _work(context, item, wait=wait)
            except PUSH_ERRORS as error:
                failures.append(error)
                context.events("failure", f"queued push {item.number}: {error}", number=item.number)
    if failures:
        several = f"{len(failures)} queued pushes failed; the first: "
        message = f"{several if len(failures) > 1 else ''}{failures[0]}"
        raise type(failures[0])(context.events.clear(message))


def _next(context: PushContext, tried: list[QueuedPush]) -> QueuedPush | None:
    """The first untried item with something to do; other commands may add items at any time."""
    done = {item.added for item in tried}
    for item in Queue(context.runs).items():
        if item.added not in done and item.state_in(context) not in OVER:
            return item
    return None


def _work(context: PushContext, item: QueuedPush, *, wait: bool) -> None:
    """Process one item to its end, from its current state."""
    project, catalogue = item.plan.project, item.plan.catalogue
    context = replace(context, catalogue=catalogue, root=project.root, owner=item.plan.account)
    with context.asking() as kaggle:
        push, quota = item.push_in(context), None
        if push is None or not push.version:
            sent = _send(context, item, kaggle, wait=wait)
            if sent is None:
                return
            push, quota = sent
        if not wait:
            _stop_if_alive(context, item, push, kaggle)
        follow(
            context,
            kaggle,
            push,
            item.plan.bundle.text,
            output=item.output,
            submit=item.submit,
            quota=quota,
            submit_once=True,
        )


def _send(
    context: PushContext, item: QueuedPush, kaggle: Kaggle, *, wait: bool
) -> tuple[Push, Quota | None] | None:
    """Push the item once a session is free; returns the push, and the hours left before it.

    None if it was removed from the queue while it waited.
    """
    planned = prepare(context, item.plan, kaggle, continues=item.continues)
    clock, patience = context.timing.clock, context.timing.patience
    if item.state_in(context) == ledgers.SENDING:
        clock.sleep(sum(context.timing.saving.settle))  # by then, a request in flight has arrived
    pause, reported, last_answer = patience.slow_poll, "", clock.now()
    while item in Queue(context.runs):
        try:
            return _send_now(context, item, planned, kaggle)
        except (CapacityError, KernelBusyError) as error:
            reason, last_answer = str(error), clock.now()
        except NetworkError as error:
            if not wait or clock.now() - last_answer > patience.silence:
                raise
            reason = str(error)
        if not wait:
            raise StillRunningError(f"queued push {item.number} waits: {reason}")
        if reason != reported:
            context.events("waiting", f"queued push {item.number}: {reason}", number=item.number)
        reported = reason
        clock.sleep(pause)
        pause = min(patience.longest, 2 * pause)
    return None


def _send_now(
    context: PushContext, item: QueuedPush, planned: Plan, kaggle: Kaggle
) -> tuple[Push, Quota | None]:
    """Push the item, unless that is done already; raises what prevents the push for now."""
    kernel = planned.kernel
    with context.alone_with(str(kernel)):  # the checks remain valid until the push is sent
        look_after_cut_off(context, kaggle, kernel)
        push = item.push_in(context)
        if push and push.version:
            return push, None
        status = account.check_account(context, planned, kaggle, submits=item.submit is not None)
        _check_hours(planned, status.quota)
        account.tell(context, planned, status)
        sent = send(context, planned, kaggle, force=item.force, queued=item.added)
        return sent, status.quota


def _check_hours(planned: Plan, quota: Quota | None) -> None:
    """Raise `CapacityError` if the week's hours might not last until the end of the session."""
    longest = planned.hours
    if quota is None or quota.left >= longest:
        return
    kind = planned.metadata.machine.kind.upper()
    if quota.allowed < longest:
        raise PreflightError(
            f"the run may take {longest:.1f} h and a week has {quota.allowed:.1f} {kind} hours: "
            "limit it with --timeout MINUTES"
        )
    raise CapacityError(
        f"{quota.remaining(kind)} and the run may take {longest:.1f}: it waits for Saturday 00:00 "
        "UTC. A run limited with --timeout MINUTES may fit sooner"
    )


def _stop_if_alive(context: PushContext, item: QueuedPush, push: Push, kaggle: Kaggle) -> None:
    status = kaggle.status(push.name, push.version)
    if status and status.alive:
        raise StillRunningError(
            f"queued push {item.number}, {push.reference}, is still {status.state}: reconnect with "
            "kernelkit queue run"
        )
