"""Check a push with the TPU's compiler before it uses quota, or say what its last check found."""

from collections.abc import Iterator

from kernelkit.push.checks.findings import Finding, warning
from kernelkit.push.planned.plan import Plan
from kernelkit.terminal.events import Events
from kernelkit.tpu import figures
from kernelkit.tpu.tpu_run import TpuRun


def compile_push(plan: Plan, events: Events) -> bool:
    """Compile the plan's programs for its TPU, if the project says so for every push.

    That is `before_push` in [tool.kernelkit.tpu]. Returns whether it compiled. Raises
    `DoesNotFitError` for a program that does not fit.
    """
    settings = plan.project.tpu
    run = _run(plan)
    if run is None or not (settings.before_push and settings.command):
        return False
    run.compiled(events).tell(events)
    return True


def last_compiled(plan: Plan) -> Iterator[Finding]:
    """What the last check with the TPU's compiler said of this plan, if the project has one."""
    run = _run(plan)
    if run is None or not plan.project.tpu.command:
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


def _run(plan: Plan) -> TpuRun | None:
    """The plan's run on its TPU; None on another machine.

    It is None, too, of a notebook that starts runs: these have notebooks and parameters of their
    own.
    """
    if plan.kind != "tpu" or plan.request.starts:
        return None
    return TpuRun.on_kaggle(plan.project, plan.parameters, plan.metadata.machine.shape)
