"""The plan of one push, made locally: notebook, parameters, machine, bundle."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit import machines, project
from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.kaggle.client import SOURCES, Kernel
from kernelkit.notebook import parameters
from kernelkit.notebook.document import parameters_source, read_json, read_script
from kernelkit.project import Project
from kernelkit.push.bundle import metadata
from kernelkit.push.bundle.build import Bundle, build
from kernelkit.push.bundle.metadata import Metadata

ACCELERATOR = "accelerator"  # the parameter that tells a notebook which machine to expect


@dataclass(frozen=True)
class Plan:
    """One push: its kernel's settings (machine and owner filled in), bundle, project, parameters.

    `parameters` are all parameters of the notebook, including the defaults; `starts` are those of
    each run that the notebook itself starts; `timeout_minutes` is None for Kaggle's limit.
    """

    metadata: Metadata
    bundle: Bundle
    project: Project
    parameters: Mapping[str, Any]
    timeout_minutes: float | None
    starts: tuple[Mapping[str, Any], ...] = ()

    @property
    def values(self) -> Iterator[tuple[str, Any]]:
        """Each parameter's name and value, for the notebook and every run that it starts."""
        for run in (self.parameters, *self.starts):
            yield from run.items()

    @property
    def kind(self) -> machines.Kind:
        """The kind of the requested machine."""
        return self.metadata.machine.kind

    @property
    def kernel(self) -> Kernel:
        """The kernel to push; its owner is empty until the account is known."""
        return Kernel(self.metadata.owner, self.metadata.slug)

    @property
    def hours(self) -> float:
        """The longest time that the session may take, in hours."""
        return self.metadata.minutes(self.timeout_minutes) / 60

    @property
    def save_fields(self) -> dict[str, Any]:
        """The fields of Kaggle's SaveKernel request besides its text, by their names in the SDK.

        A pinned image is never sent for a TPU: Kaggle would start the CPU image instead.
        """
        values, machine, minutes = self.metadata.values, self.metadata.machine, self.timeout_minutes
        request = {
            "slug": values.get("id"),
            "new_title": self.metadata.title or None,
            "language": values.get("language", "python"),
            "kernel_type": values.get("kernel_type", "notebook"),
            "is_private": values.get("is_private", True),
            "enable_gpu": machine.kind == "gpu",
            "enable_tpu": machine.kind == "tpu",
            "enable_internet": self.metadata.online,
            "category_ids": list(values.get("keywords") or []),
            "machine_shape": machine.shape or None,
            "session_timeout_seconds": minutes and max(1, round(minutes * 60)),
        }
        request |= {f"{kind}_data_sources": self.metadata.sources(kind) for kind in SOURCES}
        if machine.kind != "tpu":
            names = ("docker_image", "docker_image_pinning_type")
            request |= {name: values.get(name) for name in names}
        return {name: value for name, value in request.items() if value is not None}

    @property
    def content(self) -> str:
        """A hash of the bundle's content and of the request's other fields."""
        message = json.dumps([self.bundle.content, self.save_fields], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()

    @property
    def catalogue(self) -> str:
        """The project's command that makes a rehearsal's inputs.

        `{NAME}` in it is replaced by the parameter's values in this push; `{catalogue}` is kept.
        """

        def values(mark: re.Match[str]) -> str:
            words = {str(value) for name, value in self.values if name == mark[2]}
            return mark[0] if mark[2] == "catalogue" else shlex.join(sorted(words))

        # A value is quoted here, so quotes around its mark go.
        return re.sub(r"""(['"]?)\{(\w+)\}\1""", values, self.project.catalogue).strip()

    @property
    def account(self) -> str:
        """The account's name in the metadata; empty for placeholders."""
        return next(filter(None, self.metadata.own_names()), "")

    def owned_by(self, username: str, *, anyone: bool = False) -> Plan:
        """The same plan with placeholder owners (with `anyone`, all owners) replaced."""
        return replace(self, metadata=self.metadata.owned_by(username, anyone=anyone))

    def attaching(self, kind: str, *sources: str) -> Plan:
        """The same plan with these datasets, models or kernels (`kind`) attached."""
        every = list(dict.fromkeys([*self.metadata.sources(kind), *sources]))
        return replace(self, metadata=self.metadata.with_values(**{f"{kind}_sources": every}))


def make(
    notebook: Path | None,
    overrides: parameters.Overrides,
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
    if timeout_minutes is not None and not 0 < timeout_minutes < math.inf:
        raise ParameterError(f"--timeout {timeout_minutes}: give a positive number of minutes")
    kernel = _kernel(notebook, metadata_file)
    if accelerator:
        kernel = kernel.on(machines.named(accelerator))
    here = project_here or project.find_project(kernel.path)
    source = parameters_source((read_script if kernel.is_script else read_json)(kernel.code_file))
    declared = parameters.declared(source, here)
    values = parameters.resolve(declared, overrides)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    if ACCELERATOR in declared:  # so that the run itself checks its machine
        requested, kind = values.get(ACCELERATOR, "auto"), kernel.machine.kind
        if requested not in ("auto", kind):
            raise ParameterError(
                f"-p {ACCELERATOR}={requested} and a {kind.upper()} machine contradict each other: "
                f"add --accelerator {requested}"
            )
        values[ACCELERATOR] = kind
    minutes = kernel.minutes(timeout_minutes)
    script, attached = kernel.is_script, any(map(kernel.sources, SOURCES))
    return Plan(
        metadata=kernel,
        bundle=build(kernel.code_file, values, here, minutes, script=script, attached=attached),
        project=here,
        parameters=defaults | values,
        timeout_minutes=timeout_minutes,
        starts=tuple(starts),
    )


def _kernel(notebook: Path | None, metadata_file: Path | None) -> Metadata:
    """The settings in a metadata file, by default the nearest, with this notebook as code_file.

    Pushing another notebook under a kernel's name would hide the history of the first, so that
    requires an explicit metadata file.
    """
    file = metadata_file or metadata.locate(notebook or Path.cwd())
    kernel = metadata.load(file)
    own = kernel.code_file.resolve()
    if notebook and not Path(notebook).is_dir():
        notebook = Path(notebook).resolve()
        halves = own.is_file() and notebook.with_suffix("") == own.with_suffix("")
        if notebook != own and not halves:
            if not notebook.is_file():
                raise NotebookError(f"no notebook at {notebook}")
            if metadata_file is None:
                raise PreflightError(
                    f"{notebook.name} is not the code_file of {file}, and would become a version "
                    f"of {kernel.slug}: give it metadata of its own in "
                    f"{metadata.own_file(notebook).name} beside it, with "
                    f'"code_file": "{notebook.name}", or with --metadata FILE'
                )
            kernel, own = kernel.with_values(code_file=str(notebook)), notebook
    if not own.is_file():
        near = [path for end in ("ipynb", "py") for path in own.parent.glob(f"*.{end}")]
        there = next((path.name for path in near if path.stem.lower() == own.stem.lower()), "")
        hint = there and f", but there is {there}"
        raise NotebookError(f"no notebook at {own}{hint}: correct code_file in {file}")
    if _is_r(own):
        raise NotebookError(
            f"{own.name} is R, and kernelkit pushes only Python: use `kaggle kernels push`"
        )
    if kernel.is_script and own.suffix != ".py":
        raise NotebookError(
            f"kernel_type is script, but {own.name} is not a script: name a .py as code_file, or "
            "set kernel_type to notebook"
        )
    return kernel


def _is_r(file: Path) -> bool:
    """Whether a code file is R, by its suffix or by the kernel that its notebook names."""
    if file.suffix != ".ipynb":
        return file.suffix.lower() in (".r", ".rmd")
    about = json.dumps(read_json(file).get("metadata"))
    return bool(re.search('"(?:name|language)": "(?:ir|R)"', about))
