"""The plan of a push: what would be sent, and on which machine. It is made without Kaggle."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, SOURCES
from kernelkit.notebook import document, parameters, rules
from kernelkit.notebook.document import read_json, read_script
from kernelkit.project import Project
from kernelkit.push.bundle.build import Bundle, build
from kernelkit.push.datasets.own_datasets import OwnDataset, attached_folders
from kernelkit.push.datasets.wheel_set import WheelSet
from kernelkit.push.planned.metadata import Metadata, own_file, unversioned
from kernelkit.push.planned.own_kernels import own_names
from kernelkit.push.planned.request import PushRequest

ACCELERATOR = "accelerator"  # the parameter that tells a notebook which machine to expect


@dataclass(frozen=True)
class Plan:
    """One push: its kernel's settings with the machine filled in, its bundle, its parameters.

    `plan_push` makes it; on its way it gets the internet that assumed settings lack
    (`with_internet`), its wheels (`with_wheels`) and the account's names (`in_account`).

    `source` is the notebook as nbformat's JSON, also of a script, whose blocks are its cells.
    `parameters` are all parameters of the notebook, including the defaults. `datasets` are those
    that the push makes of files of this machine, the one of its `wheels` among them; without
    `wheels`, none are wanted, or none were chosen.
    `needed` are the sources that it attaches by itself, in words; `wanted` those that each of its
    `runs` reads by the project's own word, by kind, attached by itself or not.
    """

    request: PushRequest
    metadata: Metadata
    source: Mapping[str, Any]
    bundle: Bundle
    parameters: Mapping[str, Any]
    datasets: tuple[OwnDataset, ...] = ()
    wheels: WheelSet | None = None
    needed: tuple[str, ...] = ()
    wanted: tuple[Mapping[str, Collection[str]], ...] = ()

    @cached_property
    def project(self) -> Project:
        """The packages and settings."""
        return self.request.project

    @cached_property
    def runs(self) -> Sequence[Mapping[str, Any]]:
        """The parameters of each run: of those that the notebook starts, or its own."""
        return self.request.starts or (self.parameters,)

    @cached_property
    def values(self) -> Sequence[tuple[str, Any]]:
        """Each parameter's name and value, for the notebook and every run that it starts."""
        return [pair for run in (self.parameters, *self.request.starts) for pair in run.items()]

    @cached_property
    def kind(self) -> machines.Kind:
        """The kind of the requested machine."""
        return self.metadata.machine.kind

    @cached_property
    def kernel(self) -> Kernel:
        """The name of the kernel to push; its owner is empty until the account is known."""
        return Kernel(self.metadata.owner, self.metadata.slug)

    @cached_property
    def kernel_name(self) -> str:
        """The same as text, "owner/slug"."""
        return str(self.kernel)

    @cached_property
    def hours(self) -> float:
        """The longest time that the session may take, in hours."""
        return self.metadata.minutes(self.request.timeout) / 60

    @cached_property
    def save_fields(self) -> dict[str, Any]:
        """The fields of Kaggle's SaveKernel request besides its text, by their names in the SDK.

        A pinned image is never sent for a TPU: Kaggle would start the CPU image instead.
        """
        settings = self.metadata.settings
        machine = self.metadata.machine
        minutes = self.request.timeout
        request = {
            "slug": settings.id or None,
            "new_title": settings.title or None,
            "language": settings.language or "python",
            "kernel_type": settings.kernel_type or "notebook",
            "is_private": settings.is_private,
            "enable_gpu": machine.kind == "gpu",
            "enable_tpu": machine.kind == "tpu",
            "enable_internet": self.metadata.online,
            "category_ids": list(settings.keywords or []),
            "machine_shape": machine.shape or None,
            "session_timeout_seconds": minutes and max(1, round(minutes * 60)),
        }
        if self.request.no_run:
            request["kernel_execution_type"] = "QUICK_SAVE"
        request |= {f"{kind}_data_sources": self.metadata.sources[kind] for kind in SOURCES}
        if machine.kind != "tpu":
            request["docker_image"] = settings.docker_image
            request["docker_image_pinning_type"] = settings.docker_image_pinning_type
        return {name: value for name, value in request.items() if value is not None}

    @cached_property
    def content(self) -> str:
        """A hash of the bundle's content and of the request's other fields.

        Whether it continues from its own last output is not part of it, but of the inputs that
        Kaggle names.
        """
        fields = dict(self.save_fields)
        own = self.kernel_name
        kernels = [source for source in fields["kernel_data_sources"] if source != own]
        fields["kernel_data_sources"] = kernels
        message = json.dumps([self.bundle.content, fields], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()

    @property
    def catalogue_command(self) -> str:
        """The project's command that makes a rehearsal's inputs.

        `{NAME}` in it is replaced by the parameter's values in this push; `{catalogue}` is kept.
        """

        def values(mark: re.Match[str]) -> str:
            words = {str(value) for name, value in self.values if name == mark[2]}
            return mark[0] if mark[2] == "catalogue" else shlex.join(sorted(words))

        # A value is quoted here, so quotes around its mark go.
        return re.sub(r"""(['"]?)\{(\w+)\}\1""", values, self.project.catalogue).strip()

    @cached_property
    def username(self) -> str:
        """The account's name in the metadata; empty for placeholders."""
        return next(iter(own_names(self.metadata)), "")

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with placeholder owners (with `anyone`, all own names) replaced."""
        others = own_names(self.metadata) if anyone else ()
        return replace(self, metadata=self.metadata.owned_by(username, others))

    @cached_property
    def sources(self) -> Sequence[tuple[str, str]]:
        """The kind and the name of each attached source, without its own wheels."""
        wheels = self.wheels.dataset_name(self.project) if self.wheels else ""
        found = []
        for kind in SOURCES:
            for source in self.metadata.sources[kind]:
                if kind != "dataset" or source.rpartition("/")[2] != wheels:
                    found.append((kind, source))
        return found

    def bringing(self, *datasets: OwnDataset) -> Plan:
        """The same plan with these datasets of the account's, whose owner is a placeholder."""
        plan = replace(self, datasets=(*self.datasets, *datasets))
        return plan.attaching("dataset", *(f"{PLACEHOLDERS[0]}/{own.slug}" for own in datasets))

    def attaching(self, kind: str, *sources: str) -> Plan:
        """The same plan with these datasets, models or kernels (`kind`) attached."""
        every = list(dict.fromkeys([*self.metadata.sources[kind], *sources]))
        return replace(self, metadata=self.metadata.with_values(**{f"{kind}_sources": every}))


def plan_push(request: PushRequest) -> Plan:
    """Plan a push: read its metadata and notebook, set its parameters, build its bundle.

    Reads the disk and never asks Kaggle, so the same files and request give the same plan, with
    or without an account; `with_wheels` chooses its wheels later. Nothing is checked here that
    `checks` can find: a plan may well be one that Kaggle would refuse.

    Raises `ParameterError` or `NotebookError` for values that the notebook does not accept,
    `PreflightError` if there is no metadata or no such machine.
    """
    minutes = request.timeout
    if minutes is not None and not 0 < minutes < math.inf:
        raise ParameterError(f"--timeout {minutes}: give a positive number of minutes")
    metadata = _metadata(request)
    if request.accelerator:
        metadata = metadata.on(machines.named(request.accelerator))
    if not request.internet:
        metadata = metadata.with_values(enable_internet=False)
    read = read_script if metadata.is_script else read_json
    source = read(metadata.code_file)
    document.check_language(metadata.code_file, source)
    declared = parameters.of_notebook(source, request.project)
    values = parameters.resolve(declared, request.parameters)
    if ACCELERATOR in declared:  # so that the run itself checks its machine
        requested = values.get(ACCELERATOR, "auto")
        kind = metadata.machine.kind
        if requested not in ("auto", kind):
            raise ParameterError(
                f"-p {ACCELERATOR}={requested} and a {kind.upper()} machine contradict each other: "
                f"add --accelerator {requested}"
            )
        values[ACCELERATOR] = kind
    session = metadata.minutes(minutes)
    attached = {kind for kind in SOURCES if metadata.sources[kind]}
    if request.model:
        attached.add("model")
    own = attached_folders(request.project)
    if own:
        attached.add("dataset")
    bundle = build(
        metadata.code_file,
        source,
        values,
        request.project,
        session,
        script=metadata.is_script,
        attached=attached,
        accelerator=metadata.machine.kind,
        brought={each.slug: each.contents.sums_name for each in own},
    )
    every = parameters.completed(declared, values)
    plan = Plan(request, metadata, source, bundle, every).bringing(*own)
    if request.model:
        plan = plan.attaching("model", *request.model)
    if request.continues:
        owner = metadata.owner or PLACEHOLDERS[0]
        plan = plan.attaching("kernel", f"{owner}/{metadata.slug}")
    return _with_needed_sources(plan)


def _with_needed_sources(plan: Plan) -> Plan:
    """The plan with the sources that its project's function names for its parameters.

    A source that is attached already, also in another version, stays as it is.
    """
    notebook = plan.project.beside or plan.metadata.code_file
    wanted = rules.sources(plan.project, notebook, plan.runs)
    notes: dict[str, dict[str, str]] = {}  # of all runs, each source once
    for run in wanted:
        for kind, names in run.items():
            notes.setdefault(kind, {}).update(names)
    needed: list[str] = []
    for kind, names in notes.items():
        own = {unversioned(kind, source) for source in plan.metadata.sources[kind]}
        missing = [name for name in names if unversioned(kind, name) not in own]
        plan = plan.attaching(kind, *missing)
        for name in missing:
            note = " ".join(names[name].split())
            needed.append(f"{kind} {name} ({note})" if note else f"{kind} {name}")
    return replace(plan, needed=tuple(needed), wanted=tuple(wanted))


def _metadata(request: PushRequest) -> Metadata:
    """The settings in the request's metadata file, with its notebook as code_file."""
    metadata = request.metadata
    notebook = request.notebook
    if request.assumed:
        notebook = None
    if notebook and not Path(notebook).is_dir():
        metadata = _with_notebook(metadata, Path(notebook).resolve(), named=request.metadata_named)
    code_file = metadata.code_file.resolve()
    if not code_file.is_file():
        raise _no_code_file(code_file, metadata.path)
    if code_file.suffix.lower() in document.R_ENDINGS:
        raise document.not_python(code_file)
    if metadata.is_script and code_file.suffix != ".py":
        raise NotebookError(
            f"kernel_type is script, but {code_file.name} is not a script: name a .py as "
            "code_file, or set kernel_type to notebook"
        )
    return metadata


def _with_notebook(metadata: Metadata, notebook: Path, *, named: bool) -> Metadata:
    """The kernel with this notebook as its code_file; either half of a pair stands for both.

    Pushing another notebook under a kernel's name would hide the history of the first, so that
    requires metadata that the caller `named`.
    """
    if metadata.is_of(notebook):
        return metadata
    if not notebook.is_file():
        raise document.not_there(notebook)
    if notebook.suffix.lower() not in (".py", ".ipynb", ".r", ".rmd"):
        raise document.no_notebook(notebook)
    if not named:
        raise PreflightError(
            f"{notebook.name} is not the code_file of {metadata.path}, and would become a version "
            f"of {metadata.slug}: `kernelkit init {shlex.quote(os.path.relpath(notebook))}` writes "
            f"metadata of its own, {own_file(notebook).name}, or name one with --metadata"
        )
    return metadata.with_values(code_file=str(notebook))


def _no_code_file(code_file: Path, file: Path) -> NotebookError:
    """The error for a code_file that is not there, with what is there under a similar name."""
    near = [path for end in ("ipynb", "py") for path in code_file.parent.glob(f"*.{end}")]
    similar = [path.name for path in near if path.stem.lower() == code_file.stem.lower()]
    if not similar:
        return NotebookError(
            f"no notebook at {code_file}: correct code_file in {file}, or run the step that makes "
            "the notebook first"
        )
    there = similar[0]
    if code_file.suffix == ".ipynb" and there.endswith(".py"):
        command = f"jupytext --to ipynb {shlex.quote(str(code_file.parent / there))}"
        return NotebookError(
            f"no notebook at {code_file}, but there is {there}: make the notebook of it "
            f"({command}), or name {there} as code_file in {file}"
        )
    return NotebookError(
        f"no notebook at {code_file}, but there is {there}: correct code_file in {file}"
    )
