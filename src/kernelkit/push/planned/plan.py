"""The plan of a push: what would be sent, and on which machine. It is made without Kaggle."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kernelkit import machines
from kernelkit.errors import ParameterError
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, SOURCES
from kernelkit.notebook.document import read_json
from kernelkit.notebook.interface import parameters
from kernelkit.notebook.interface.values import completed, resolve
from kernelkit.notebook.project_rules import rules
from kernelkit.notebook.scripts import read_script
from kernelkit.project import Project
from kernelkit.push.bundle.build import Bundle, build
from kernelkit.push.datasets.own_datasets import OwnDataset, attached_folders
from kernelkit.push.datasets.wheel_set import WheelSet
from kernelkit.push.described.metadata import Metadata, unversioned
from kernelkit.push.described.own_kernels import own_names
from kernelkit.push.planned.code_file import with_code_file
from kernelkit.push.planned.request import PushRequest

ACCELERATOR = "accelerator"  # the parameter that tells a notebook which machine to expect


@dataclass(frozen=True)
class Plan:
    """One push: its kernel's settings with the machine filled in, its bundle, its parameters.

    `plan_push` makes it; on its way it gets the internet that assumed settings lack
    (`with_internet`), its wheels (`with_wheels`) and the account's names (`in_account`).

    `source` is the notebook as nbformat's JSON, also of a script, whose blocks are its cells.
    `parameters` are all parameters of the notebook, including the defaults. `minutes` is the
    longest time that the session may take. `datasets` are those that the push makes of files of
    this machine, the one of its `wheels` among them; without `wheels`, none are wanted, or none
    were chosen.
    A project's function names the sources that a run needs. `named_sources` are those of each of
    its `runs`, by kind; `extra_sources` are those of them, in words, that the plan attaches because
    the metadata does not name them.
    """

    request: PushRequest
    metadata: Metadata
    source: Mapping[str, Any]
    bundle: Bundle
    parameters: Mapping[str, Any]
    minutes: float
    datasets: tuple[OwnDataset, ...] = ()
    wheels: WheelSet | None = None
    extra_sources: tuple[str, ...] = ()
    named_sources: tuple[Mapping[str, Collection[str]], ...] = ()

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
        return self.metadata.kernel

    @cached_property
    def kernel_name(self) -> str:
        """The same as text, "owner/slug"."""
        return str(self.kernel)

    @cached_property
    def hours(self) -> float:
        """The longest time that the session may take, in hours."""
        return self.minutes / 60

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
        Kaggle names. Nor is the dataset with its wheels: they are chosen anew, for the same pins in
        the bundle, once a session has shown its Python.
        """
        fields = dict(self.save_fields)
        own = self.kernel_name
        kernels = [source for source in fields["kernel_data_sources"] if source != own]
        fields["kernel_data_sources"] = kernels
        datasets = [source for kind, source in self.sources if kind == "dataset"]
        fields["dataset_data_sources"] = datasets
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
    def own_names(self) -> Sequence[str]:
        """The account's names in the metadata: its owner, and those of its own sources."""
        return own_names(self.metadata)

    @cached_property
    def username(self) -> str:
        """The first of them; empty if there is none."""
        return next(iter(self.own_names), "")

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with placeholder owners (with `anyone`, all own names) replaced."""
        others = self.own_names if anyone else ()
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

    def bringing(self, dataset: OwnDataset) -> Plan:
        """The same plan with this dataset of the account's too, whose owner is a placeholder."""
        metadata = self.metadata.attaching("dataset", dataset.source)
        return replace(self, metadata=metadata, datasets=(*self.datasets, dataset))


def plan_push(request: PushRequest) -> Plan:
    """Plan a push: read its notebook, set its parameters, build its bundle.

    Reads the disk, runs the project's function that names its sources, and never asks Kaggle: the
    same files and request give the same plan, with or without an account. `with_wheels` chooses
    its wheels later. Nothing is checked here that `checks` can find: a plan may well be one that
    Kaggle would refuse.

    Raises `ParameterError` or `NotebookError` for values that the notebook does not accept,
    `PreflightError` if there is no metadata or no such machine.
    """
    project = request.project
    metadata = _settings(request)
    read = read_script if metadata.is_script else read_json
    source = read(metadata.code_file)
    declared = parameters.of_notebook(source, project)
    values = resolve(declared, request.parameters)
    if ACCELERATOR in declared:  # so that the run itself checks its machine
        _refuse_other_machine(values.get(ACCELERATOR, "auto"), metadata.machine.kind)
        values[ACCELERATOR] = metadata.machine.kind
    minutes = metadata.minutes(request.timeout)
    own = attached_folders(project)
    metadata = metadata.attaching("dataset", *(each.source for each in own))
    bundle = build(
        metadata.code_file,
        source,
        values,
        project,
        minutes,
        script=metadata.is_script,
        attached={kind for kind in SOURCES if metadata.sources[kind]},
        accelerator=metadata.machine.kind,
        brought={each.slug: each.contents.sums_name for each in own},
    )
    if request.continues:  # afterwards, as the bundle is the same without it
        owner = metadata.owner or PLACEHOLDERS[0]
        metadata = metadata.attaching("kernel", f"{owner}/{metadata.slug}")
    every = completed(declared, values)
    return _with_extra_sources(Plan(request, metadata, source, bundle, every, minutes, own))


def _settings(request: PushRequest) -> Metadata:
    """The settings of a request's notebook, with what the request says in their place."""
    minutes = request.timeout
    if minutes is not None and not 0 < minutes < math.inf:
        raise ParameterError(f"--timeout {minutes}: give a positive number of minutes")
    metadata = with_code_file(request)
    if request.accelerator:
        metadata = metadata.on(machines.named(request.accelerator))
    if not request.internet:
        metadata = metadata.with_values(enable_internet=False)
    return metadata.attaching("model", *request.model)


def _refuse_other_machine(requested: Any, kind: machines.Kind) -> None:
    """Raise `ParameterError` for a parameter that names another machine than the settings."""
    if requested not in ("auto", kind):
        raise ParameterError(
            f"-p {ACCELERATOR}={requested} and a {kind.upper()} machine contradict each other: "
            f"add --accelerator {requested}"
        )


def _with_extra_sources(plan: Plan) -> Plan:
    """The plan with the sources that its project's function names for its parameters.

    A source that is attached already, also in another version, stays as it is.
    """
    notebook = plan.project.swept_notebook or plan.metadata.code_file
    named = rules.sources(plan.project, notebook, plan.runs)
    notes: dict[str, dict[str, str]] = {}  # of all runs, each source once
    for run in named:
        for kind, names in run.items():
            notes.setdefault(kind, {}).update(names)
    metadata = plan.metadata
    extra: list[str] = []
    for kind, names in notes.items():
        own = {unversioned(kind, source) for source in metadata.sources[kind]}
        missing = [name for name in names if unversioned(kind, name) not in own]
        metadata = metadata.attaching(kind, *missing)
        for name in missing:
            note = " ".join(names[name].split())
            extra.append(f"{kind} {name} ({note})" if note else f"{kind} {name}")
    return replace(plan, metadata=metadata, extra_sources=tuple(extra), named_sources=tuple(named))
