"""All checks that need no network, by name, and what an error among their findings does.

Kaggle accepts a great deal in silence: a misspelt key, a source with a prefix, a machine that no
longer exists, an image that pins a TPU run to the CPU. Each is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from kernelkit.checks import kernel, notebook
from kernelkit.checks.findings import Finding
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.plans.metadata import Metadata
from kernelkit.plans.plan import Plan

CHECKS: dict[str, Callable[[Plan], Iterable[Finding]]] = {
    "keys": kernel.keys,
    "identity": kernel.identity,
    "code": kernel.code,
    "pair": kernel.pair,
    "sources": kernel.sources,
    "machine": kernel.machine,
    "image": kernel.image,
    "parameters": notebook.parameters,
    "needs": notebook.needs,
    "paths": notebook.paths,
    "bundle": notebook.bundle,
    "size": notebook.size,
    "modules": notebook.modules,
    "account-secrets": notebook.account_secrets,
    "secrets": notebook.leaking,
}
# What these refuse is refused by Kaggle or by the notebook too, or should never be sent.
FINAL = ("parameters", "size", "secrets")


def run_checks(plan: Plan, ignored: Collection[str] = ()) -> list[Finding]:
    """Every finding of every check, errors first; the errors of `ignored` checks are warnings.

    Raises `ParameterError` for a name in `ignored` that no check has or that cannot be ignored.
    """
    optional = [name for name in CHECKS if name not in FINAL]
    for name in ignored:
        if name not in optional:
            raise ParameterError(f"--ignore {name}: it takes one of {', '.join(optional)}")
    findings = [
        replace(finding, check=name, level="warning" if name in ignored else finding.level)
        for name, check in CHECKS.items()
        for finding in check(plan)
    ]
    return sorted(findings, key=lambda finding: finding.level)


def stop_on_errors(findings: Sequence[Finding]) -> None:
    """Raise one `PreflightError` that lists every error among the findings."""
    errors = [finding for finding in findings if finding.level == "error"]
    if not errors:
        return
    lines = [f"  - {finding.text}" for finding in errors]
    if names := sorted({f.check for f in errors} - {*FINAL, ""}):
        lines.append(f"To push all the same: {' '.join(f'--ignore {name}' for name in names)}")
    raise PreflightError("\n".join([f"the preflight found {len(errors)} to correct:", *lines]))


def check_submission(metadata: Metadata, submit: str | None) -> None:
    """Raise `PreflightError` where a result is to be submitted and no competition is attached."""
    if submit is not None and not metadata.sources("competition"):
        raise PreflightError("--submit needs the competition in competition_sources")
