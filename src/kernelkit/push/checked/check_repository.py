"""Check every kernel of a repository, and say in CI where each finding is.

`check_kernels` is what `kernelkit check` calls at a root without a kernel-metadata.json, and with
--all.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Unpack

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.kaggle.context.kaggle_context import CommandOptions, KaggleContext
from kernelkit.notebook.document import NotPythonError
from kernelkit.project import find_project
from kernelkit.push.checks import preflight
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, error, tell, warning
from kernelkit.push.described import metadata
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.terminal.events import Event, from_here
from kernelkit.terminal.live_line import in_columns

KERNEL = Event("kernel")
OTHERS = Event("others")  # those below a kernel's folder
KERNELS = Event("kernels", quiet=True)  # the table of all


@dataclass(frozen=True)
class CheckedKernel:
    """What the checks found of one kernel."""

    kernel: Path
    code_file: str
    machine: str
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """What the table calls it: its folder, or its metadata file if that has another name."""
        file = self.kernel
        return from_here(file.parent if file.name == metadata.FILE_NAME else file)

    def count(self, level: str) -> int:
        """How many findings are of this level."""
        return len([finding for finding in self.findings if finding.level == level])


def kernels_of_root(start: Path) -> list[Path]:
    """The metadata files below a folder without any at or above it; none for any other path.

    Hidden folders and the folder of runs are not searched.
    """
    if not start.is_dir():
        return []
    try:
        metadata.locate(start)
    except PreflightError:
        return kernels_in(start)
    return []


def kernels_in(folder: Path) -> list[Path]:
    """The metadata files in a folder and below it; none of a path that is no folder."""
    return metadata.files_below(folder) if folder.is_dir() else []


def tell_others(folder: Path, **options: Unpack[CommandOptions]) -> None:
    """Say how many kernels lie below a folder with a kernel-metadata.json, if any do."""
    own = folder / metadata.FILE_NAME
    others = [file for file in kernels_in(folder) if file != own]
    if not own.is_file() or not others:
        return
    context = KaggleContext.in_project(find_project(folder), **options)
    number = "1 other kernel is" if len(others) == 1 else f"{len(others)} other kernels are"
    place = from_here(folder)
    where = "this folder" if place == "." else place
    command = "kernelkit check --all" if place == "." else f"kernelkit check --all {quote(place)}"
    context.events(OTHERS, f"{number} in {where} or below it: `{command}` checks all")
    context.events.end()


def check_kernels(
    kernels: Sequence[Path], wishes: Mapping[str, Any], **options: Unpack[CommandOptions]
) -> None:
    """Check the kernels in these metadata files without a network, and end with a table.

    `wishes`: fields of `PushRequest` for each of them. Raises `PreflightError` if there are
    problems in any, after all were checked.
    """
    checked = []
    context = KaggleContext.in_project(find_project(kernels[0]), **options)
    for file in kernels:
        context.events(KERNEL, from_here(file))
        own = _check(file, wishes)
        checked.append(own)
        tell(context.events, own.findings, kernel=from_here(file))
        annotate(own.findings, file)
    with context.announcing_errors():
        context.events(KERNELS, _table(checked), kernels=[_row(each) for each in checked])
        _summarize(checked)
        wrong = [each.name for each in checked if each.count("error")]
        if wrong:
            raise PreflightError(
                f"{len(wrong)} of {len(checked)} kernels have problems: {', '.join(wrong)}"
            )


def _check(file: Path, wishes: Mapping[str, Any]) -> CheckedKernel:
    """What the checks find of the kernel in a metadata file; what keeps it from a plan, too."""
    try:
        kernel = metadata.load(file)
        code_file = kernel.code_file.name
        machine = kernel.machine.words
    except KernelkitError as refusal:
        return CheckedKernel(file, "", "", (error(str(refusal)),))
    try:
        request = PushRequest.of(None, (), metadata=file, **wishes)
        findings = preflight.run_checks(plan_push(request))
    except NotPythonError as other:  # a repository may well have some of both
        findings = [warning(f"not checked: {other}")]
    except KernelkitError as refusal:
        findings = [error(str(refusal))]
    return CheckedKernel(file, code_file, machine, tuple(findings))


def _row(checked: CheckedKernel) -> dict[str, str | int]:
    return {
        "kernel": checked.name,
        "code_file": checked.code_file,
        "machine": checked.machine,
        "errors": checked.count("error"),
        "warnings": checked.count("warning") + checked.count("guess"),
    }


def _table(checked: Iterable[CheckedKernel]) -> str:
    """One line for each kernel, in columns."""
    rows = [["kernel", "code_file", "machine", "errors", "warnings"]]
    for each in checked:
        rows.append([str(value) for value in _row(each).values()])
    return "\n".join(in_columns(rows))


def _summarize(checked: Iterable[CheckedKernel]) -> None:
    """Add the table to the summary of a job in CI, if there is one."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    lines = ["### Kernels", "", "| kernel | code file | machine | errors | warnings |"]
    lines.append("|---|---|---|---|---|")
    for each in checked:
        values = (str(value).replace("|", "\\|") for value in _row(each).values())
        lines.append(f"| {' | '.join(values)} |")
    with contextlib.suppress(OSError), Path(summary).open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
