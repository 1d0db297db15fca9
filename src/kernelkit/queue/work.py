"""Work off the queue: one push after the other, each as soon as there is a session and hours.

What was done before this process began is read from the ledger, so that it may be killed at any
moment: a push that was being sent is looked for at Kaggle before it is sent again, and so is a
submission; one that arrived is waited for and fetched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from kernelkit.checks import account, wheels
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
from kernelkit.kaggle_api.answers import Failure, Quota
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.plans import plan
from kernelkit.plans.plan import Plan
from kernelkit.pushes.follow import follow
from kernelkit.pushes.send import look_after_cut_off, prepare, send
from kernelkit.queue.items import OVER, Queue, QueuedPush
from kernelkit.terminal import invocation
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push

# Errors that end one push and do not concern the next one.
PUSH_ERRORS = (PreflightError, RefusedError, RunFailedError, OutputsError, ParameterError)


def work_off(
    *,
    wait: bool = True,
    **options: Unpack[CommandOptions],
) -> None:
    """Push the queued items in order, wait for each and fetch its files, until all are done.

    wait   whether to wait for sessions, hours and runs; otherwise do what can be done now

    With `local` it is rehearsed, and stays as it is for Kaggle itself.

    A push that ends badly does not stop the next ones; the error of the first such push is raised
    at the end. Raises `StillRunningError` where `wait` is false and something waits or
    runs, and at once the errors after which no other push can be made: `CredentialsError`,
    `NetworkError`, `DeadlineError`.
    """
    if options.get("local") and not wait:
        raise ParameterError("a rehearsal's Kaggle lives as long as the command: drop --no-wait")
    context = in_project(plan.here(None), options)
    tried: list[QueuedPush] = []
    failures: list[KernelkitError] = []
    with context.alone_in_queue():
        while item := _next(context, tried):
            tried.append(item)
            try:
                _work(context, item, wait=wait)
            except PUSH_ERRORS as error:
                failures.append(error)
                context.events("failure", f"queued push {item.number}: {error}", number=item.number)
    if failures:
        several = f"{len(failures)} queued pushes ended badly; the first: "
        message = f"{several if len(failures) > 1 else ''}{failures[0]}"
        raise type(failures[0])(context.events.clear(message))


def _next(context: PushContext, tried: list[QueuedPush]) -> QueuedPush | None:
    """The first item with something to do that was not tried; others may add some meanwhile."""
    done = {item.added for item in tried}
    for item in Queue(context.runs).items():
        if item.added not in done and item.state_in(context) not in OVER:
            return item
    return None


def _work(context: PushContext, item: QueuedPush, *, wait: bool) -> None:
    """Bring one item to its end, from the state that it is in."""
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
    """Push the item once there is room for it; returns the push, and the hours left before it.

    None where it was removed from the queue while it waited.
    """
    planned, attached = prepare(context, item.plan, kaggle, continues=item.continues)
    if attached:
        wheels.upload(context, kaggle, attached)
    clock, patience = context.timing.clock, context.timing.patience
    if item.state_in(context) == ledgers.SENDING:
        clock.sleep(sum(context.timing.saving.settle))  # what was on its way has arrived then
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
    """Push the item, unless that was done already; raises what keeps it from being pushed now."""
    kernel = planned.kernel
    with context.alone_with(str(kernel)):  # the checks hold until the push is sent
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
    """Raise `CapacityError` where the week's hours might not last to the end of the session."""
    longest = planned.hours
    if quota is None or quota.left >= longest:
        return
    kind = planned.metadata.machine.kind.upper()
    if quota.allowed < longest:
        raise PreflightError(
            f"the run may take {longest:.1f} h and a week has {quota.allowed:.1f} {kind} hours: "
            "bound it with --timeout MINUTES"
        )
    raise CapacityError(
        f"{quota.remaining(kind)} and the run may take {longest:.1f}: it waits for Saturday 00:00 "
        "UTC. A run that is bounded with --timeout MINUTES may fit sooner"
    )


def _stop_if_alive(context: PushContext, item: QueuedPush, push: Push, kaggle: Kaggle) -> None:
    try:
        status = kaggle.status(push.name, push.version)
    except Failure as failure:
        raise failure.error() from None
    if status and status.alive:
        raise StillRunningError(
            f"queued push {item.number}, {push.reference}, is still {status.state}: come back with "
            f"{invocation.command('queue')} run"
        )
