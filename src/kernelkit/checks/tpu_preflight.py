"""The TPU compiler's check of a push before quota is spent, or the result of the last check."""

from __future__ import annotations

from dataclasses import replace

from kernelkit.checks import preflight
from kernelkit.checks.checks import warning
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.pushes.context import PushContext
from kernelkit.pushes.plan import Plan
from kernelkit.terminal import invocation
from kernelkit.tpu import check, kept
from kernelkit.tpu.chips import TpuMachine, machine_named


def look(context: PushContext, planned: Plan, asked: bool) -> Plan:
    """Check a push to a TPU if that is `asked` for; else report what its last check found.

    Returns the plan, with a warning where that check found that it does not fit. Raises
    `DoesNotFitError` before anything is sent, and `ParameterError` where there is nothing to check.
    """
    project = planned.request.project
    machine = _machine(planned)
    if asked and machine is None:
        raise ParameterError(
            "--check-tpu compiles for a TPU, and this push asks for another machine: add "
            "--accelerator tpu, or leave the check out"
        )
    if machine is None or planned.request.starts or not (asked or project.tpu.command):
        return planned  # the runs that a notebook starts have notebooks and parameters of their own
    if asked or project.tpu.before_push:
        preflight.stop_on_errors(planned.findings)
        compiled = check.compiled(project, planned.request.parameters, machine, context.events)
        check.tell(compiled, context.events)
        check.stop_where_it_does_not_fit(compiled)
        return planned
    if context.local:  # a rehearsal spends no quota
        return planned
    return _last_time(context, planned, machine)


def _machine(planned: Plan) -> TpuMachine | None:
    try:
        shape = planned.metadata.machine.shape
        return machine_named(shape) if shape else None
    except (ParameterError, PreflightError):  # of no TPU; an unknown shape is a finding already
        return None


def _last_time(context: PushContext, planned: Plan, machine: TpuMachine) -> Plan:
    request = planned.request
    last = kept.last(request.project, request.parameters, machine)
    if last is None:
        context.events(
            "tpu",
            "this program was not checked with the TPU's compiler: "
            f"{invocation.command('push')} --check-tpu compiles it before anything is sent",
        )
        return planned
    since = "" if last.current else ", before the sources changed"
    checked = f"checked with the TPU's compiler on {last.date}{since}"
    refused = next((program for program in last.programs if not program.fits), None)
    if refused is None:
        context.events("tpu", f"{checked}: it fits a {machine.name}")
        return planned
    finding = warning(f"{checked}: {refused.verdict}")
    return replace(planned, findings=(*planned.findings, finding))
