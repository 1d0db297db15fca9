"""The checks of a plan that need no network, by the names that `--ignore` accepts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kernelkit import errors
from kernelkit.push.checks import declared, kernel_settings, leaving
from kernelkit.push.checks.code import cells, doubts, local_reads, mounts
from kernelkit.push.checks.findings import FINAL, Finding
from kernelkit.push.checks.modules import own_modules, session_modules, tpu_use
from kernelkit.push.planned.plan import Plan

_CHECKS: Sequence[Callable[[Plan], Iterable[Finding]]] = (
    kernel_settings.submission,
    kernel_settings.keys,
    kernel_settings.identity,
    kernel_settings.code,
    leaving.pair,
    kernel_settings.sources,
    kernel_settings.machine,
    tpu_use.machine_use,
    kernel_settings.image,
    declared.parameters,
    declared.needs,
    local_reads.paths,
    mounts.mounts,
    cells.bundle,
    leaving.size,
    session_modules.modules,
    own_modules.own_modules,
    doubts.calls,
    leaving.secrets,
)
CHECKS = {check.__name__.replace("_", "-"): check for check in _CHECKS}
OPTIONAL = [name for name in CHECKS if name not in FINAL]


def run_checks(plan: Plan) -> list[Finding]:
    """All findings about a plan, those of one level together, and the most useful guesses first;
    the errors of ignored checks are warnings.

    It asks no network, and reads the disk: the files of the plan, the ledger and the last runs. A
    project's own rules run in the project's Python. Raises `ParameterError` for a name in the
    request's `ignore` that is unknown or cannot be ignored.
    """
    ignored = plan.request.ignore
    for name in ignored:
        if name not in OPTIONAL:
            raise errors.ParameterError(f"--ignore {name}: it takes {errors.choice_of(OPTIONAL)}")
    findings = [
        Finding("attached", f"{source}, which its parameters need") for source in plan.extra_sources
    ]
    for name, check in CHECKS.items():
        for finding in check(plan):
            is_ignored = name in ignored and finding.level == "error"
            level = "warning" if is_ignored else finding.level
            findings.append(replace(finding, check=name, level=level))
    return sorted(findings, key=lambda finding: (finding.level, finding.rank))
