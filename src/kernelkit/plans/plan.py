"""The plan of one push, made locally: notebook, parameters, machine, bundle."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelkit import machines, project
from kernelkit.bundle.build import Bundle, build
from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.kaggle_api.client import Kernel
from kernelkit.notebooks import parameters
from kernelkit.notebooks.document import parameters_source, read_json, read_script
from kernelkit.plans import chain, metadata
from kernelkit.plans.metadata import FILE_NAME, Metadata
from kernelkit.project import Project

R = frozenset(("r", ".r", ".rmd"))  # the language's name, and its file extensions
ACCELERATOR = "accelerator"  # the parameter that tells a notebook which machine to expect


@dataclass(frozen=True)
class Plan:
    """One push: its kernel's settings (machine and owner filled in), bundle, project, parameters.

    `parameters` are all parameters of the notebook, including the defaults; `starts` are those of
    each run that the notebook itself starts; `defaults` are the notebook's own values;
    `timeout_minutes` is None for Kaggle's limit.
    """

    metadata: Metadata
    bundle: Bundle
    project: Project
    parameters: Mapping[str, Any]
    timeout_minutes: float | None
    starts: tuple[Mapping[str, Any], ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> Iterator[tuple[str, Any]]:
        """Each parameter's name and value, for the notebook and every run that it starts."""
        for run in (self.parameters, *self.starts):
            yield from run.items()

    @property
    def kind(self) -> machines.Kind | None:
        """The kind of the requested machine; None if there is no such machine."""
        with contextlib.suppress(PreflightError):  # the check of the machine reports it
            return self.metadata.machine.kind
        return None

    @property
    def kernel(self) -> Kernel:
        """The kernel to push; its owner is empty until the account is known."""
        return Kernel(self.metadata.owner, self.metadata.slug)

    @property
    def hours(self) -> float:
        """The longest time that the session may take, in hours."""
        cap = machines.LIMITS[self.metadata.machine.kind].hours_per_session
        return min(cap, (self.timeout_minutes or 60 * cap) / 60)

    @property
    def save_fields(self) -> dict[str, Any]:
        """The SaveKernel request's fields."""
        minutes = self.timeout_minutes
        seconds = None if minutes is None else round(minutes * 60)
        return metadata.save_request(self.metadata, self.bundle.text, seconds)

    @property
    def content(self) -> str:
        """A hash of the bundle's content and of the request without its text."""
        settings = {name: value for name, value in self.save_fields.items() if name != "text"}
        message = json.dumps([self.bundle.content, settings], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()

    @property
    def catalogue(self) -> str:
        """The project's command that makes a rehearsal's inputs.

        `{NAME}` in it is replaced by the parameter's values in this push; `{catalogue}` is kept.
        """

        def values(mark: re.Match[str]) -> str:
            words = {str(value) for name, value in self.values if name == mark[1]}
            return mark[0] if mark[1] == "catalogue" else shlex.join(sorted(words))

        return re.sub(r"\{(\w+)\}", values, self.project.catalogue).strip()

    @property
    def account(self) -> str:
        """The account's name in the metadata; empty for placeholders."""
        return next(filter(None, self._own_names), "")

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with placeholder owners (with `anyone`, all owners) replaced."""
        kernel = self.metadata.anyones(self._own_names) if anyone else self.metadata
        return replace(self, metadata=kernel.owned_by(username))

    @property
    def _own_names(self) -> list[str]:
        kernel = self.metadata
        return chain.own_names(kernel) if kernel.sources("kernel") else [kernel.owner]

    def attaching(self, kind: str, *sources: str) -> Plan:
        """The same plan with these datasets or models (`kind`) attached."""
        return replace(self, metadata=self.metadata.attaching(kind, sources))

    def continuing(self) -> Plan:
        """The same plan with the outputs of the kernel's own last version attached."""
        return replace(self, metadata=self.metadata.continuing())


def make(
    notebook: Path | None,
    overrides: Sequence[str] | Mapping[str, Any],
    metadata_file: Path | None,
    accelerator: str | None,
    timeout_minutes: float | None,
    project_here: Project | None = None,
    starts: Sequence[Mapping[str, Any]] = (),
) -> Plan:
    """Plan a push, without checking it.

    `project_here`: the packages and settings, instead of those of the metadata's project; `starts`:
    the parameters of each run that the notebook itself starts.

    Raises `ParameterError` or `NotebookError` for values that the notebook does not accept,
    `PreflightError` if there is no metadata or no such machine.
    """
    if timeout_minutes is not None and not math.isfinite(timeout_minutes):
        raise ParameterError(f"--timeout {timeout_minutes}: give a positive number of minutes")
    if notebook and notebook.is_file() and notebook.suffix not in (".py", ".ipynb"):
        raise NotebookError(f"{notebook} is not a notebook: give a .py (py:percent) or an .ipynb")
    file = metadata_file or locate(notebook or Path.cwd())
    kernel = _with_notebook(metadata.load(file), notebook, explicit=metadata_file is not None)
    if accelerator:
        kernel = kernel.on(machines.named(accelerator))
    _check_code_file(kernel, file)
    here = project_here or project.find_project(kernel.path)
    read = read_script if kernel.is_script else read_json
    content = read(kernel.code_file)
    _refuse_r(kernel.code_file, content)
    source = parameters_source(content)
    declared = parameters.declared(source, here) if source else {}
    values = parameters.resolve(declared, overrides)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    for run in (defaults | values, *starts):
        parameters.check_offers(run, here.offers)
    if ACCELERATOR in declared:
        values = _with_machine(values, kernel)
    minutes = _session_minutes(kernel, timeout_minutes)
    return Plan(
        metadata=kernel,
        bundle=build(kernel.code_file, values, here, minutes, script=kernel.is_script),
        project=here,
        parameters=defaults | values,
        defaults=defaults,
        timeout_minutes=timeout_minutes,
        starts=tuple(starts),
    )


def _check_code_file(kernel: Metadata, file: Path) -> None:
    if not kernel.code_file.is_file():
        instead, written = "correct code_file", str(kernel.values.get("code_file") or "")
        if near := written and metadata.meant(kernel.code_file):
            instead = f'write "code_file": "{Path(written).with_name(near).as_posix()}"'
        raise NotebookError(f"no notebook at {kernel.code_file}: {instead} in {file}")
    _refuse_r(kernel.code_file)
    if kernel.is_script and kernel.code_file.suffix != ".py":
        raise NotebookError(
            f"kernel_type is script, but {kernel.code_file.name} is not a script: name a .py as "
            "code_file, or set kernel_type to notebook"
        )


def _refuse_r(code_file: Path, notebook: Mapping[str, Any] | None = None) -> None:
    """Raise `NotebookError` for R, by the file's extension or the notebook's own metadata."""
    about = (notebook or {}).get("metadata") or {}
    spec, language = (about.get(name) or {} for name in ("kernelspec", "language_info"))
    names = [code_file.suffix, spec.get("language"), language.get("name")]
    if R.intersection(str(name).lower() for name in names):
        raise NotebookError(
            f"{code_file.name} is R, and kernelkit pushes only Python: use `kaggle kernels push`"
        )


def locate(start: Path) -> Path:
    """The notebook's own metadata, or else the nearest `kernel-metadata.json` at or above it.

    `start` may also be a folder. Raises `PreflightError` if there is neither.
    """
    start = Path(start).resolve()
    if start.name and (own := metadata.own_file(start)).is_file():
        return own
    for folder in [start, *start.parents]:
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise PreflightError(
        f"no {FILE_NAME} at or above {start}: write one with `kaggle kernels init`, start a "
        "repository with `kernelkit init NAME`, or name one elsewhere with --metadata"
    )


def _with_notebook(kernel: Metadata, notebook: Path | None, *, explicit: bool) -> Metadata:
    """The kernel with this notebook instead of its code_file.

    Pushing another notebook under this kernel's name would hide the history of the first, so that
    requires an explicit metadata file.
    """
    if notebook is None or Path(notebook).is_dir():
        return kernel
    notebook = Path(notebook).resolve()
    own = kernel.code_file.resolve()
    if notebook == own or (notebook.with_suffix("") == own.with_suffix("") and own.is_file()):
        return kernel
    if not notebook.is_file():
        raise NotebookError(f"no notebook at {notebook}")
    if kernel.path == metadata.own_file(notebook):
        raise PreflightError(
            f"{kernel.path} belongs to {notebook.name}, but its code_file is {own}: write "
            f'"code_file": "{notebook.name}", relative to that file'
        )
    if not explicit:
        raise PreflightError(
            f"{notebook.name} is not the code_file of {kernel.path}, and would become a version "
            f"of {kernel.slug}: give it metadata of its own in {metadata.own_file(notebook).name} "
            "beside it, or with --metadata FILE"
        )
    return replace(kernel, values={**kernel.values, "code_file": str(notebook)})


def _with_machine(values: dict[str, Any], kernel: Metadata) -> dict[str, Any]:
    """The parameters plus the requested machine, so that the run itself checks it."""
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
    """How long the session may last: the requested time, up to Kaggle's limit for the machine."""
    try:
        cap = machines.LIMITS[kernel.machine.kind].hours_per_session * 60
    except PreflightError:  # the preflight reports the machine too
        return None
    return min(cap, timeout_minutes or cap)
