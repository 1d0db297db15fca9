"""Check a push with the TPU's compiler before it uses quota, or show the last such check."""

from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.kaggle.context import PushContext
from kernelkit.push.checks.findings import Finding, warning
from kernelkit.push.checks.preflight import stop_on_errors
from kernelkit.push.plan import Plan
from kernelkit.tpu import check, figures
from kernelkit.tpu.chips import machine_named


def before_push(
    context: PushContext, plan: Plan, findings: list[Finding], *, compile_now: bool
) -> None:
    """Compile a TPU push's programs if requested; otherwise report their last check.

    Adds a warning to the plan's `findings` if that check found that it does not fit. Raises
    `DoesNotFitError` before anything is sent, and `ParameterError` if there is nothing to check.
    """
    project, run = plan.project, _run(plan)
    if compile_now and run is None:
        raise ParameterError(
            "--check-tpu compiles for a TPU, but this push requests another machine: add "
            "--accelerator tpu, or leave out --check-tpu"
        )
    # The runs that a notebook starts have their own notebooks and parameters.
    if run is None or plan.starts or not (compile_now or project.tpu.command):
        return
    if compile_now or project.tpu.before_push:
        stop_on_errors(findings)
        check.tell(run.compiled(context.events), context.events)
    elif not context.local:  # a rehearsal uses no quota
        findings += _last_check(context, run)


def estimate(plan: Plan) -> dict[str, Any]:
    """What the compiler said of a push's training step, to compare with its run; empty if unknown.

    `seconds` and `peak_bytes` of a chip, and the compiler's `versions`.
    """
    run = _run(plan)
    result = run and run.last_check()
    for program in result.programs if result and result.current else ():
        if program.name == check.TRAINING and program.estimate:
            names = ("peak_bytes", "versions")
            return {"seconds": program.estimate} | {n: program.facts.get(n) for n in names}
    return {}


def _run(plan: Plan) -> check.TpuRun | None:
    try:
        shape = plan.metadata.machine.shape
        return check.TpuRun(plan.project, plan.parameters, machine_named(shape)) if shape else None
    except ParameterError:  # not a TPU; an unknown shape is already a finding
        return None


def _last_check(context: PushContext, run: check.TpuRun) -> list[Finding]:
    result = run.last_check()
    if result is None:
        context.events(
            "tpu",
            "this program was not checked with the TPU's compiler: "
            "kernelkit push --check-tpu compiles it before anything is sent",
        )
        return []
    since = "" if result.current else ", before the sources changed"
    by = next((figures.compiler(program.facts.get("versions")) for program in result.programs), "")
    checked = f"checked with {by} on {result.date}{since}"
    if result.refused:
        return [warning(f"{checked}: {result.refused[0].verdict}")]
    context.events("tpu", f"{checked}: it fits a {run.machine.name}")
    return []
