"""Check a push with the TPU's compiler before it uses quota, or say what its last check found."""

from collections.abc import Iterator
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.push.checks.findings import Finding, warning
from kernelkit.push.planned.plan import Plan
from kernelkit.terminal.events import Events
from kernelkit.tpu import check, figures
from kernelkit.tpu.chips import machine_named


def compile_push(plan: Plan, events: Events) -> bool:
    """Compile the plan's programs for its TPU, if the project says so for every push; whether it
    did.

    That is `before_push` in [tool.kernelkit.tpu]. Raises `DoesNotFitError` for a program that does
    not fit.
    """
    run = _run(plan)
    # The runs that a notebook starts have their own notebooks and parameters.
    if run is None or plan.request.starts:
        return False
    if not (plan.project.tpu.before_push and plan.project.tpu.command):
        return False
    check.tell(run.compiled(events), events)
    return True


def last_compiled(plan: Plan) -> Iterator[Finding]:
    """What the last check with the TPU's compiler said of this plan, if the project has one."""
    run = _run(plan)
    if run is None or plan.request.starts or not plan.project.tpu.command:
        return
    result = run.last_check()
    if result is None:
        yield Finding(
            "tpu",
            "this program was not checked with the TPU's compiler: "
            "kernelkit check --tpu compiles it before anything is sent",
        )
        return
    since = "" if result.current else ", before the sources changed"
    by = next((figures.compiler(program.facts.get("versions")) for program in result.programs), "")
    checked = f"checked with {by} on {result.date}{since}"
    if result.refused:
        yield warning(f"{checked}: {result.refused[0].verdict}")
    else:
        yield Finding("tpu", f"{checked}: it fits a {run.machine.name}")


def estimate(plan: Plan) -> dict[str, Any]:
    """What the compiler said of a push's training step, to compare with its run; empty if unknown.

    `seconds` and `peak_bytes` of a chip, and the compiler's `versions`.
    """
    run = _run(plan)
    result = run.last_check() if run else None
    if result is None or not result.current:
        return {}
    for program in result.programs:
        if program.name == check.TRAINING and program.estimate:
            names = ("peak_bytes", "versions")
            return {"seconds": program.estimate} | {n: program.facts.get(n) for n in names}
    return {}


def _run(plan: Plan) -> check.TpuRun | None:
    shape = plan.metadata.machine.shape
    if not shape:
        return None
    try:
        return check.TpuRun(plan.project, plan.parameters, machine_named(shape))
    except ParameterError:  # not a TPU; an unknown shape is already a finding
        return None
