"""Check every kernel of a repository, and say in CI where each finding is.

`check_kernels` is what `kernelkit check` calls at a root without a kernel-metadata.json, and with
--all.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Unpack

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.files import from_here
from kernelkit.kaggle.context.kaggle_context import CommandOptions, KaggleContext
from kernelkit.notebook.document import NotPythonError
from kernelkit.project import find_project
from kernelkit.push.checked.checked_plan import compiled_findings, plan_and_findings
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, error, tell, warning
from kernelkit.push.described import metadata
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.terminal.events import ERROR, WARNING, Event, Events
from kernelkit.terminal.live_line import in_columns

KERNEL = Event("kernel")
OTHERS = Event("others")  # those below a kernel's folder
KERNELS = Event("kernels", quiet=True)  # the table of all


@dataclass(frozen=True)
class CheckedKernel:
    """How many errors and warnings were told of one kernel; the guesses are warnings, too.

    `code_file` and `machine` are empty if its metadata cannot be read.
    """

    kernel: Path
    code_file: str
    machine: str
    errors: int
    warnings: int

    @property
    def name(self) -> str:
        """What the table calls it: its folder, or its metadata file if that has another name."""
        file = self.kernel
        return from_here(file.parent if file.name == metadata.FILE_NAME else file)


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
    """Check each of the kernels in these metadata files, and end with a table.

    `wishes`: fields of `PushRequest` for each of them. Raises `PreflightError` if there are
    problems in any, after all were checked.
    """
    checked = []
    context = KaggleContext.in_project(find_project(kernels[0]), **options)
    for file in kernels:
        context.events(KERNEL, from_here(file))
        checked.append(_check(file, wishes, context.events, options))
    with context.announcing_errors():
        context.events(KERNELS, _table(checked), kernels=[_row(each) for each in checked])
        _summarize(checked)
        wrong = [each.name for each in checked if each.errors]
        if wrong:
            raise PreflightError(
                f"{len(wrong)} of {len(checked)} kernels have problems: {', '.join(wrong)}"
            )


def _check(
    file: Path, wishes: Mapping[str, Any], events: Events, options: CommandOptions
) -> CheckedKernel:
    """Check the kernel in a metadata file as if it were the only one, and tell what is found."""
    before = Counter(events.told)
    code_file = machine = ""
    try:
        kernel = metadata.load(file)
        code_file, machine = kernel.code_file.name, kernel.machine.words
        request = PushRequest.of(None, (), metadata=file, **wishes)
        own = PushContext.in_project(request.project, **options)
        own.events = events  # which count for the table
        plan, findings = plan_and_findings(own, request)
        tell(events, findings, kernel=from_here(file))
        if all(finding.level != "error" for finding in findings):
            tell(events, compiled_findings(own, plan), kernel=from_here(file))
    except NotPythonError as other:  # a repository may well have some of both
        _tell_refusal(events, warning(f"not checked: {other}"), file)
    except KernelkitError as refusal:
        _tell_refusal(events, error(str(refusal)), file)
    found = events.told - before
    return CheckedKernel(file, code_file, machine, found[ERROR], found[WARNING])


def _tell_refusal(events: Events, refusal: Finding, file: Path) -> None:
    """Tell what ends the check of one kernel."""
    annotate([refusal], file)
    tell(events, [refusal], kernel=from_here(file))


def _row(checked: CheckedKernel) -> dict[str, str | int]:
    return {
        "kernel": checked.name,
        "code_file": checked.code_file,
        "machine": checked.machine,
        "errors": checked.errors,
        "warnings": checked.warnings,
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
