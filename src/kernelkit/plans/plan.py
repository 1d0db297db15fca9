"""The plan of one push, made at the desk: notebook, parameters, machine, bundle."""

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
from kernelkit.kaggle_api.answers import Kernel
from kernelkit.notebooks import parameters
from kernelkit.notebooks.document import parameters_source, read_json, read_script
from kernelkit.plans import chain, metadata
from kernelkit.plans.metadata import FILE_NAME, Metadata
from kernelkit.project import Project

R = frozenset(("r", ".r", ".rmd"))  # the language, and the endings of its files
ACCELERATOR = "accelerator"  # the parameter through which a notebook checks its machine


@dataclass(frozen=True)
class Plan:
    """One push: its kernel's settings (machine and owner filled in), bundle, project, parameters.

    `parameters` are all of the notebook's, the defaults among them, and `starts` those of each
    run that it starts in turn; `defaults` are the notebook's own values; `timeout_minutes` is None
    where none was asked for.
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
        """Each parameter's name and value, of the notebook and of every run that it starts."""
        for each in (self.parameters, *self.starts):
            yield from each.items()

    @property
    def kind(self) -> machines.Kind | None:
        """The kind of machine that is asked for; None for one that does not exist."""
        with contextlib.suppress(PreflightError):  # the check of the machine reports it
            return self.metadata.machine.kind
        return None

    @property
    def kernel(self) -> Kernel:
        """The kernel that is pushed; its owner is empty until the account is known."""
        return Kernel(self.metadata.owner, self.metadata.slug)

    @property
    def hours(self) -> float:
        """The longest that the session may take."""
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
        """The project's command that fills a rehearsal's inputs.

        `{NAME}` in it becomes the values that the parameter has in this push; `{catalogue}` stays.
        """

        def values(mark: re.Match[str]) -> str:
            words = {str(value) for name, value in self.values if name == mark[1]}
            return mark[0] if mark[1] == "catalogue" else shlex.join(sorted(words))

        return re.sub(r"\{(\w+)\}", values, self.project.catalogue).strip()

    @property
    def account(self) -> str:
        """The account's name as the metadata has it; empty for placeholders."""
        return next(filter(None, self._own_names), "")

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with the placeholder owner filled, or with `anyone` any owner replaced."""
        kernel = self.metadata.anyones(self._own_names) if anyone else self.metadata
        return replace(self, metadata=kernel.owned_by(username))

    @property
    def _own_names(self) -> list[str]:
        kernel = self.metadata
        return chain.own_names(kernel) if kernel.sources("kernel") else [kernel.owner]

    def attaching(self, dataset: str) -> Plan:
        """The same plan with a dataset ("owner/slug") attached."""
        return replace(self, metadata=self.metadata.attaching(dataset))

    def continuing(self) -> Plan:
        """The same plan with the output of the kernel's own last version attached."""
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
    _check_code_file(kernel, file)
    here = project_here or project.find_project(kernel.path)
    read = read_script if kernel.is_script else read_json
    content = read(kernel.code_file)
    _refuse_r(kernel.code_file, content)
    source = parameters_source(content)
    declared = parameters.declared(source, here) if source else {}
    values = parameters.resolve(declared, overrides)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    for each in (defaults | values, *starts):
        parameters.check_offers(each, here.offers)
    if ACCELERATOR in declared:
        values = _told_machine(values, kernel)
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
            f"kernel_type is script, and {kernel.code_file.name} is none: name a .py as code_file, "
            "or write notebook"
        )


def _refuse_r(code_file: Path, notebook: Mapping[str, Any] | None = None) -> None:
    """Raise `NotebookError` for R, by the file's ending or what a notebook states of itself."""
    about = (notebook or {}).get("metadata") or {}
    spec, language = (about.get(name) or {} for name in ("kernelspec", "language_info"))
    names = [code_file.suffix, spec.get("language"), language.get("name")]
    if R.intersection(str(name).lower() for name in names):
        raise NotebookError(
            f"{code_file.name} is R, and kernelkit pushes Python: `kaggle kernels push` takes it"
        )


def locate(start: Path) -> Path:
    """A notebook's own metadata, else the nearest `kernel-metadata.json` at or above it.

    `start` may be a folder as well. Raises `PreflightError` when there is neither.
    """
    start = Path(start).resolve()
    if start.name and (own := metadata.own_file(start)).is_file():
        return own
    for folder in [start, *start.parents]:
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise PreflightError(
        f"no {FILE_NAME} at or above {start}: `kaggle kernels init` writes one, `kernelkit init "
        "NAME` makes a whole repository, and --metadata names one elsewhere"
    )


def here(metadata_file: Path | None) -> Project:
    """The project of a metadata file, or of the present folder."""
    return project.find_project(metadata_file or Path.cwd())


def _with_notebook(kernel: Metadata, notebook: Path | None, *, explicit: bool) -> Metadata:
    """The kernel with the notebook given in place of its code_file.

    Another notebook under this kernel's name would hide the history of the first, so it
    takes a metadata file that was named on purpose.
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
