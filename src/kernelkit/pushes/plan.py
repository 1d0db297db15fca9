"""The plan of one push, made at the desk: notebook, parameters, machine, bundle."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit import machines, project
from kernelkit.bundle.build import build
from kernelkit.checks import metadata, preflight
from kernelkit.checks.checks import Finding
from kernelkit.checks.metadata import FILE_NAME, Metadata
from kernelkit.checks.preflight import PushRequest
from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.notebooks import parameters
from kernelkit.notebooks.document import parameters_source, read_json
from kernelkit.project import Project

ACCELERATOR = (
    "accelerator"  # the parameter through which a notebook learns its machine, to check it
)


@dataclass(frozen=True)
class Plan:
    """A push ready to be sent: the request, and the findings of the preflight."""

    request: PushRequest
    findings: tuple[Finding, ...]

    @property
    def metadata(self) -> Metadata:
        """The kernel's settings, machine and owner filled in."""
        return self.request.metadata

    @property
    def save_fields(self) -> dict[str, Any]:
        """The SaveKernel request's fields."""
        minutes = self.request.timeout_minutes
        seconds = None if minutes is None else round(minutes * 60)
        return metadata.save_request(self.metadata, self.request.bundle.text, seconds)

    @property
    def content(self) -> str:
        """A hash of the bundle's content and of the request without its text."""
        settings = {name: value for name, value in self.save_fields.items() if name != "text"}
        message = json.dumps([self.request.bundle.content, settings], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()

    @property
    def catalogue(self) -> str:
        """The project's command that fills a rehearsal's inputs.

        `{NAME}` in it becomes the values that the parameter has in this push; `{catalogue}` stays.
        """

        def values(mark: re.Match[str]) -> str:
            words = {str(value) for name, value in self.request.values if name == mark[1]}
            return mark[0] if mark[1] == "catalogue" else shlex.join(sorted(words))

        return re.sub(r"\{(\w+)\}", values, self.request.project.catalogue).strip()

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with the placeholder owner filled, or with `anyone` any owner replaced."""
        kernel = self.metadata
        if anyone:
            kernel = kernel.anyones()
        return replace(self, request=replace(self.request, metadata=kernel.owned_by(username)))

    def attaching(self, dataset: str) -> Plan:
        """The same plan with a dataset ("owner/slug") attached."""
        kernel = self.metadata.attaching(dataset)
        return replace(self, request=replace(self.request, metadata=kernel))

    def continuing(self) -> Plan:
        """The same plan with the output of the kernel's own last version attached."""
        return replace(self, request=replace(self.request, metadata=self.metadata.continuing()))


def make(
    notebook: Path | None,
    given: Sequence[str] | Mapping[str, Any],
    metadata_file: Path | None,
    accelerator: str | None,
    timeout_minutes: float | None,
    project_here: Project | None = None,
    starts: Sequence[Mapping[str, Any]] = (),
) -> Plan:
    """Plan a push and run the offline preflight over it, without stopping at its errors.

    `project_here`: the packages and settings, in place of those of the metadata's own project;
    `starts`: the parameters of each run that the notebook itself starts.

    Raises `ParameterError` or `NotebookError` for values that the notebook does not take,
    `PreflightError` where there is no metadata or no such machine.
    """
    if timeout_minutes is not None and not math.isfinite(timeout_minutes):
        raise ParameterError(f"--timeout {timeout_minutes}: give minutes above zero")
    if notebook and notebook.is_file() and notebook.suffix not in (".py", ".ipynb"):
        raise NotebookError(f"{notebook} is not a notebook: give a .py (py:percent) or an .ipynb")
    file = metadata_file or locate(notebook or Path.cwd())
    kernel = _with_notebook(metadata.load(file), notebook, explicit=metadata_file is not None)
    if accelerator:
        kernel = kernel.on(machines.named(accelerator))
    if not kernel.code_file.is_file():
        raise NotebookError(f"no notebook at {kernel.code_file}: correct code_file in {file}")
    here = project_here or project.find_project(kernel.path)
    source = parameters_source(read_json(kernel.code_file))
    declared = parameters.declared(source, here) if source else {}
    values = parameters.resolve(declared, given)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    for each in (defaults | values, *starts):
        parameters.check_offers(each, here.offers)
    if ACCELERATOR in declared:
        values = _told_machine(values, kernel)
    minutes = _session_minutes(kernel, timeout_minutes)
    request = PushRequest(
        metadata=kernel,
        bundle=build(kernel.code_file, values, here, minutes),
        project=here,
        parameters=defaults | values,
        defaults=defaults,
        timeout_minutes=timeout_minutes,
        starts=tuple(starts),
    )
    return Plan(request, tuple(preflight.offline(request)))


def locate(start: Path) -> Path:
    """A notebook's own metadata, else the nearest `kernel-metadata.json` at or above it.

    `start` may be a folder as well. Raises `PreflightError` when there is neither.
    """
    start = Path(start).resolve()
    own = metadata.own_file(start)
    if own.is_file():
        return own
    for folder in [start, *start.parents]:
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise PreflightError(f"no {FILE_NAME} at or above {start}: give one with --metadata")


def here(metadata_file: Path | None) -> Project:
    """The project of a metadata file, or of the present folder."""
    return project.find_project(metadata_file or Path.cwd())


def _with_notebook(kernel: Metadata, notebook: Path | None, *, explicit: bool) -> Metadata:
    """The kernel with the notebook given in place of its code_file.

    Another notebook under this kernel's name would hide the history of the first, so it
    takes a metadata file that was named on purpose.
    """
    if notebook is None:
        return kernel
    notebook = Path(notebook).resolve()
    own = kernel.code_file.resolve()
    if notebook == own or (notebook.with_suffix("") == own.with_suffix("") and own.is_file()):
        return kernel
    if not notebook.is_file():
        raise NotebookError(f"no notebook at {notebook}")
    if kernel.path == metadata.own_file(notebook):
        raise PreflightError(
            f"{kernel.path} is {notebook.name}'s own, and its code_file leads to {own}: write "
            f'"code_file": "{notebook.name}", as it is relative to that file'
        )
    if not explicit:
        raise PreflightError(
            f"{notebook.name} is not the code_file of {kernel.path}, and would become a version "
            f"of {kernel.slug}: give it metadata of its own in {metadata.own_file(notebook).name} "
            "beside it, or with --metadata FILE"
        )
    return replace(kernel, values={**kernel.values, "code_file": str(notebook)})


def _told_machine(values: dict[str, Any], kernel: Metadata) -> dict[str, Any]:
    """The parameters with the machine asked for among them, so that the run checks it itself."""
    try:
        kind = kernel.machine.kind
    except PreflightError:  # the preflight reports the machine too
        return values
    if values.get(ACCELERATOR, "auto") == "auto":
        return {**values, ACCELERATOR: kind}
    if values[ACCELERATOR] != kind:
        raise ParameterError(
            f"-p {ACCELERATOR}={values[ACCELERATOR]} and a {kind.upper()} machine contradict each "
            f"other: add --accelerator {values[ACCELERATOR]}"
        )
    return values


def _session_minutes(kernel: Metadata, timeout_minutes: float | None) -> float | None:
    """How long the session may last: the time asked for, within what Kaggle gives its machine."""
    try:
        cap = machines.LIMITS[kernel.machine.kind].hours_per_session * 60
    except PreflightError:  # the preflight reports the machine too
        return None
    return min(cap, timeout_minutes or cap)
