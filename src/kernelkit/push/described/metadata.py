"""`kernel-metadata.json`: what to push, on which machine, with which data.

The owner in its `id` and its sources may be a placeholder, which is replaced by the account's name.
`kernel-metadata.json` serves one notebook of a folder; others have `NOTEBOOK.kernel-metadata.json`.
Of a notebook without either, the room `assumed` has the settings.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelkit import machines, project, typed
from kernelkit.errors import PreflightError
from kernelkit.files import read_object_strictly
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.metadata_words import SOURCES, is_placeholder, owned
from kernelkit.machines import Machine

FILE_NAME = "kernel-metadata.json"
SHORTEST_TITLE = 5  # characters, of a slug too
NOT_SEARCHED = (project.RUNS, "node_modules", "site-packages")  # for kernels

DEPTHS = {"dataset": 2, "kernel": 2, "competition": 1, "model": 4}  # parts without a version
# The form of each kind of source that the API accepts, and in words.
SHAPES = {
    "dataset": (r"[\w-]+/[\w-]+(?:/\d{1,18})?", "owner/slug"),
    "kernel": (r"[\w-]+/[\w-]+(?:/\d{1,18})?", "owner/slug"),
    "competition": (r"[\w-]+", "the bare slug"),
    "model": (r"[\w.-]+(?:/[\w.-]+){3}/\d{1,18}", "owner/model/framework/variation/version"),
}
_PAGE = r"(?:https?://(?:www\.)?kaggle\.com/)?(?:c|competitions|datasets|code|models)/"


@dataclass(frozen=True)
class Settings:
    """The keys of a file; Kaggle's client ignores other keys.

    A null in the file means the default, but not where the type has None: a null switches
    `enable_internet` off, and a null `is_private` is not sent.
    """

    id: str = ""
    id_no: int | None = None
    title: str = ""
    code_file: str = ""
    language: str | None = None
    kernel_type: str | None = None
    is_private: bool | None = True
    enable_gpu: bool = False
    enable_tpu: bool = False
    enable_internet: bool | None = True
    dataset_sources: Sequence[Any] = ()
    competition_sources: Sequence[Any] = ()
    kernel_sources: Sequence[Any] = ()
    model_sources: Sequence[Any] = ()
    keywords: Sequence[Any] | None = None
    machine_shape: str | None = None
    docker_image: str | None = None
    docker_image_pinning_type: str | None = None


@dataclass(frozen=True)
class Metadata:
    """One kernel's settings as read, before any check.

    path      the file, or where assumed settings would be written
    settings  the values of its keys
    others    the file's other keys, with their values
    misfits   values of a wrong type, whose settings keep their defaults
    """

    path: Path
    settings: Settings
    others: Mapping[str, Any] = field(default_factory=dict)
    misfits: Sequence[typed.MisfitError] = ()

    @cached_property
    def owner(self) -> str:
        """The user name, empty while it is a placeholder."""
        owner = self.settings.id.rpartition("/")[0]
        return "" if is_placeholder(owner) else owner

    @cached_property
    def slug(self) -> str:
        """The kernel's name in its URL, without the owner."""
        return self.settings.id.rpartition("/")[2]

    @cached_property
    def kernel(self) -> Kernel:
        """The name of the kernel; its owner is empty while it is a placeholder."""
        return Kernel(self.owner, self.slug)

    @cached_property
    def code_file(self) -> Path:
        """The notebook's path."""
        return self.path.parent / self.settings.code_file

    @cached_property
    def is_script(self) -> bool:
        """Whether it is pushed as a script instead of a notebook."""
        return self.settings.kernel_type == "script"

    @cached_property
    def online(self) -> bool:
        """Whether its session has internet."""
        return bool(self.settings.enable_internet)

    @cached_property
    def shape(self) -> str:
        """The machine shape that it names, empty for none."""
        shape = self.settings.machine_shape or ""
        return "" if shape == "None" else shape  # which `kaggle kernels pull` writes

    @cached_property
    def machine(self) -> Machine:
        """The requested machine, also one that is not listed or retired: a check reports those."""
        shape = self.shape
        if not shape:
            kind: machines.Kind = "cpu"
            if self.settings.enable_gpu:
                kind = "gpu"
            if self.settings.enable_tpu:
                kind = "tpu"
            shape = machines.TODAY[kind]
        return machines.BY_SHAPE.get(shape) or machines.unlisted(shape)

    def is_of(self, notebook: Path) -> bool:
        """Whether a notebook (its resolved path) is the code_file, or the other half of a pair."""
        code_file = self.code_file.resolve()
        is_other_half = notebook.with_suffix("") == code_file.with_suffix("")
        return notebook == code_file or (is_other_half and code_file.is_file())

    def minutes(self, timeout: float | None) -> float:
        """How long its session may last: the requested minutes, up to Kaggle's limit."""
        limit = 60 * machines.LIMITS[self.machine.kind].hours_per_session
        return min(limit, timeout or limit)

    @cached_property
    def sources(self) -> Mapping[str, list[str]]:
        """The `dataset`, `competition`, `kernel` and `model` sources as they are written, each
        once."""
        settings = self.settings
        written = {
            "dataset": settings.dataset_sources,
            "competition": settings.competition_sources,
            "kernel": settings.kernel_sources,
            "model": settings.model_sources,
        }
        every = {}
        for kind in SOURCES:
            every[kind] = list(dict.fromkeys(str(source) for source in written[kind] if source))
        return every

    @property
    def competition(self) -> str | None:
        """The competition that results are submitted to: the first of its sources, if any."""
        return next(iter(self.sources["competition"]), None)

    def with_values(self, **values: Any) -> Metadata:
        """The same kernel with other values."""
        return replace(self, settings=replace(self.settings, **values))

    def owned_by(self, username: str, owners: Collection[str] = ()) -> Metadata:
        """The same kernel with `username` in place of the placeholders in its id and its sources.

        `owners`: names that it replaces as well, but only in the id and in the kernel sources. With
        an empty `username` nothing is replaced.
        """
        if not username:
            return self
        values: dict[str, Any] = {}
        replaced = {owner.lower() for owner in owners}
        if not self.owner or self.owner.lower() in replaced:
            values["id"] = f"{username}/{self.slug}"
        for kind in ("dataset", "kernel", "model"):
            sources = []
            for source in self.sources[kind]:
                owner, _, name = source.partition("/")
                if kind == "kernel" and owner.lower() in replaced:
                    source = f"{username}/{name}"
                sources.append(owned(source, username))
            values[f"{kind}_sources"] = sources
        return self.with_values(**values)

    def attaching(self, kind: str, *sources: str) -> Metadata:
        """The same kernel with these datasets, models or kernels (`kind`) among its sources."""
        if not sources:
            return self
        every = list(dict.fromkeys([*self.sources[kind], *sources]))
        return self.with_values(**{f"{kind}_sources": every})

    def on(self, machine: Machine) -> Metadata:
        """The same kernel on another machine, with matching shape and flags."""
        flags = {f"enable_{kind}": machine.kind == kind for kind in ("gpu", "tpu")}
        return self.with_values(**flags, machine_shape=machine.shape)


def bare(kind: str, source: str) -> str:
    """The source in the address of its page, such as "titanic" in "c/titanic".

    `kaggle kernels pull` writes such addresses. Empty if `source` is none of this `kind`.
    """
    pattern, _ = SHAPES[kind]
    named = re.match(rf"{_PAGE}({pattern})(?:/|$)", source, re.ASCII)
    return named[1] if named else ""


def unversioned(kind: str, source: str) -> str:
    """A source without its version, in lower case."""
    return "/".join(source.lower().split("/")[: DEPTHS[kind]])


def own_file(notebook: Path) -> Path:
    """The path of a notebook's own metadata, which need not exist."""
    return notebook.with_name(f"{notebook.stem}.{FILE_NAME}")


def locate(start: Path) -> Path:
    """The metadata file of a notebook or of a folder.

    A notebook's own file comes first, then the nearest `kernel-metadata.json` at or above `start`,
    up to the root of its git repository. For a folder that has notebooks, a file above it counts
    only if it names one of them; for a notebook, the nearest counts whatever it names.

    Raises `PreflightError` if there is none.
    """
    start = Path(start).resolve()
    file = _find(start)
    if file is None:
        place = os.path.relpath(start)
        raise PreflightError(
            f"no {FILE_NAME} at or above {start}: `kernelkit init {shlex.quote(place)}` writes it "
            "from what the notebook says, or name one elsewhere with --metadata"
        )
    return file


def described_by(start: Path) -> Metadata | None:
    """The metadata in the file that `locate` finds; None if there is none.

    Unlike `locate`, it takes the nearest `kernel-metadata.json` of a notebook only if that names
    this notebook.
    """
    start = Path(start).resolve()
    file = _find(start)
    if file is None:
        return None
    metadata = load(file)
    is_of_another = start.is_file() and file != own_file(start) and not metadata.is_of(start)
    return None if is_of_another else metadata


def _find(start: Path) -> Path | None:
    """The file that `locate` describes, or None."""
    if not start.is_dir() and own_file(start).is_file():
        return own_file(start)
    file = _nearest(start)
    if file and file.parent != start:
        notebooks = sorted(start.glob("*.ipynb"))  # none, where `start` is a notebook
        if notebooks and not any(map(load(file).is_of, notebooks)):
            return None
    return file


def _nearest(start: Path) -> Path | None:
    """The nearest `kernel-metadata.json` at or above a path, within its git repository."""
    for folder in (start, *start.parents):
        file = folder / FILE_NAME
        if file.is_file():
            return file
        if (folder / ".git").exists():
            return None
    return None


def load(path: Path) -> Metadata:
    """Read the metadata from a file, or from the folder that contains it.

    Raises `PreflightError` if there is none, or if it is not a JSON object.
    """
    path = path / FILE_NAME if path.is_dir() else path
    values = read_object_strictly(path, f"no {FILE_NAME} at {path}: give its path with --metadata")
    said, others, misfits = typed.divide(Settings, values)
    wrong = []
    for misfit in misfits:
        # As Kaggle's client reads it: `kaggle kernels init` writes "true" for true.
        word = str(misfit.value).lower()
        if misfit.kinds == [bool] and word in ("true", "false"):
            said[misfit.name] = word == "true"
        elif misfit.value is not None:  # a null leaves the default
            wrong.append(misfit)
    return Metadata(path.parent.resolve() / path.name, Settings(**said), others, wrong)


def files_below(start: Path) -> list[Path]:
    """The metadata files in a folder and below it, sorted by folders.

    Hidden folders and the folder of runs are not searched.
    """
    found = []
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in NOT_SEARCHED)
        for name in sorted(names):
            if name == FILE_NAME or name.endswith(f".{FILE_NAME}"):
                found.append(Path(folder, name))
    return found
