"""Add to the queue, list it, remove from it, without sending Kaggle a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from kernelkit.checks import preflight, wheels
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.plans import plan as plans
from kernelkit.queue.items import OVER, UNSUBMITTED, WAITING, Queue, QueuedPush
from kernelkit.run_folders import claims
from kernelkit.terminal import invocation
from kernelkit.workspace.context import CommandOptions, in_project

REMOVABLE = (WAITING, UNSUBMITTED, *OVER)


class QueueOptions(CommandOptions, total=False):
    """The keyword arguments of `add`: those of `push_kernel` that define the push.

    `force` queues a push again that is already queued or complete; `once` does nothing if the same
    push is in the queue, waiting or finished.
    """

    metadata: Path | None
    accelerator: str | None
    timeout: float | None
    output: Path | None
    continues: bool
    force: bool
    once: bool
    ignore: Sequence[str]
    submit: str | None


def add(
    notebook: Path | None = None,
    parameters: Sequence[str] | Mapping[str, Any] = (),
    **options: Unpack[QueueOptions],
) -> int:
    """Run the offline checks of a push, freeze it and append it to the queue.

    Returns its number. Raises what `plan.make` raises and `PreflightError`.
    """
    metadata, output = options.get("metadata"), options.get("output")
    force, submit = options.get("force", False), options.get("submit")
    context = in_project(plans.here(metadata or notebook), options, QueueOptions)
    if output:
        claims.check_free(output)
    plan = plans.make(
        notebook, parameters, metadata, options.get("accelerator"), options.get("timeout")
    )
    ignored = options.get("ignore", ())
    findings = preflight.run_checks(plan, ignored)
    if "machine" in ignored:
        plan = replace(plan, metadata=replace(plan.metadata, any_machine=True))
    for finding in findings:
        if finding.level != "error":
            context.events(finding.level, finding.text)
    preflight.stop_on_errors(findings)
    preflight.check_submission(plan.metadata, submit)
    wheels.find(context, plan)  # now, not when its turn comes
    queue = Queue(context.runs)
    for item in queue.items():
        if force or item.plan.content != plan.content:
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
    continues = options.get("continues", False)
    item = queue.add(plan, output, force=force, submit=submit, continues=continues)
    hint = f"{invocation.command('queue')} run"
    context.events(
        "queued",
        f"{item.number}: {_words(item)}. Push the queued items with: {hint}",
        number=item.number,
    )
    return item.number


def listing(**options: Unpack[CommandOptions]) -> list[tuple[int, str]]:
    """Report the state of each item, in order; returns (number, state) of each."""
    context = in_project(plans.here(None), options)
    states = []
    for item in Queue(context.runs).items():
        push = item.push_in(context)
        state = item.state_in(context)
        reference = f"  {push.reference}" if push and push.version else ""
        context.events(
            "status",
            f"{item.number}  {state}{reference}  {_words(item)}",
            number=item.number,
            state=state,
            added=item.added,
            push=push.reference if push and push.version else None,
        )
        states.append((item.number, state))
    if not states:
        context.events("status", "the queue is empty")
    return states


def remove(
    numbers: Sequence[int],
    **options: Unpack[CommandOptions],
) -> None:
    """Remove waiting or finished items; raises `ParameterError` for any other, removing none.

    The ledger's lines about their pushes are kept.
    """
    context = in_project(plans.here(None), options)
    queue = Queue(context.runs)
    items = [queue.find(number) for number in numbers]
    for item in items:
        state = item.state_in(context)
        if state not in REMOVABLE:
            raise ParameterError(
                f"queued push {item.number} is {state}: wait for it with "
                f"{invocation.command('queue')} run, or end it with {invocation.command('stop')}"
            )
    for item in items:
        queue.remove(item)
        context.events("removed", f"{item.number}: {_words(item)}", number=item.number)


def _words(item: QueuedPush) -> str:
    """A description of an item: notebook, machine, time limit, and given parameters."""
    request = item.plan
    given = " ".join(f"{name}={value}" for name, value in request.bundle.parameters.items())
    minutes = request.timeout_minutes
    bound = "" if minutes is None else f" for at most {minutes:g} min"
    machine = request.metadata.machine.words
    more = ", continues the last run" * item.continues + ", to be submitted" * bool(item.submit)
    return f"{request.metadata.code_file.name} on {machine}{bound} {given}".rstrip() + more
