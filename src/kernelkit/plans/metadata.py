"""`kernel-metadata.json`: what to push, on which machine, with which data.

It is the only source of a kernel's settings. The owner in its `id` and its sources may be a
placeholder, which is replaced by the account's name. A file of this name serves one notebook; other
notebooks in the folder have their own, `NOTEBOOK.kernel-metadata.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.errors import PreflightError
from kernelkit.kaggle_api.client import SOURCES
from kernelkit.machines import Machine

FILE_NAME = "kernel-metadata.json"
PLACEHOLDERS = ("INSERT_USERNAME", "INSERT_USERNAME_HERE", "USERNAME", "YOUR_USERNAME")

# The keys that Kaggle's client reads, with their types; it silently ignores any other.
KEYS: dict[str, type] = {
    "id": str,
    "id_no": int,
    "title": str,
    "code_file": str,
    "language": str,
    "kernel_type": str,
    "is_private": bool,
    "enable_gpu": bool,
    "enable_tpu": bool,
    "enable_internet": bool,
    "dataset_sources": list,
    "competition_sources": list,
    "kernel_sources": list,
    "model_sources": list,
    "keywords": list,
    "machine_shape": str,
    "docker_image": str,
    "docker_image_pinning_type": str,
}

# The path of each kind of source on Kaggle's site, and the form that the API accepts.
PLACES = {"dataset": "datasets/", "kernel": "code/", "competition": "c/", "model": "models/"}
SHAPES = {
    "dataset": (r"[\w-]+/[\w-]+(?:/\d+)?", "owner/slug"),
    "kernel": (r"[\w-]+/[\w-]+(?:/\d+)?", "owner/slug"),
    "competition": (r"[\w-]+", "the bare slug"),
    "model": (r"[\w.-]+(?:/[\w.-]+){3}/\d+", "owner/model/framework/variation/version"),
}


@dataclass(frozen=True)
class Metadata:
    """One kernel's settings as read, before any check; `values` is the file's JSON object.

    `any_machine`: an unlisted shape is sent unchanged, and its kind is inferred from its name.
    """

    path: Path
    values: Mapping[str, Any]
    any_machine: bool = False

    @property
    def owner(self) -> str:
        """The user name, empty while it is a placeholder."""
        owner = self._id.partition("/")[0] if "/" in self._id else ""
        return "" if owner.upper() in PLACEHOLDERS else owner

    @property
    def slug(self) -> str:
        """The kernel's name in its URL, without the owner."""
        return self._id.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The title that Kaggle shows, and from which it derives the slug."""
        return str(self.values.get("title") or "")

    @property
    def code_file(self) -> Path:
        """The notebook, relative to the metadata's folder."""
        return self.path.parent / str(self.values.get("code_file") or "")

    @property
    def is_script(self) -> bool:
        """Whether it is pushed as a script instead of a notebook."""
        return self.values.get("kernel_type") == "script"

    @property
    def machine(self) -> Machine:
        """The requested machine; raises `PreflightError` for a retired or unknown shape."""
        shape = str(self.values.get("machine_shape") or "")
        shape = "" if shape == "None" else shape  # `kaggle kernels pull` writes this for no machine
        if shape and not self.any_machine:
            return machines.named(shape)
        if shape:
            return machines.as_written(shape)
        wants = [kind for kind in ("tpu", "gpu") if self.values.get(f"enable_{kind}")]
        return machines.named(wants[0] if wants else "cpu")

    @property
    def _id(self) -> str:
        return str(self.values.get("id") or "")

    def sources(self, kind: str) -> list[str]:
        """The `dataset`, `competition`, `kernel` or `model` sources, in the form the API
        accepts."""
        listed = self.values.get(f"{kind}_sources") or []
        if not isinstance(listed, list):
            return []
        return [bare_source(kind, str(source)) for source in listed if source != ""]

    def owned_by(self, username: str) -> Metadata:
        """The same kernel with the placeholders in its id and sources replaced by `username`."""
        if not username:
            return self
        values = dict(self.values)
        if not self.owner:
            values["id"] = f"{username}/{self.slug}"
        for kind in ("dataset", "kernel", "model"):
            if sources := self.sources(kind):
                values[f"{kind}_sources"] = [_of(PLACEHOLDERS, username, s) for s in sources]
        return replace(self, values=values)

    def anyones(self, names: Sequence[str]) -> Metadata:
        """The same kernel with a placeholder for its owner, and for these names in its sources."""
        anyone, owners = PLACEHOLDERS[0], [name.upper() for name in names]
        values = {**self.values, "id": f"{anyone}/{self.slug}"}
        if sources := self.sources("kernel"):
            values["kernel_sources"] = [_of(owners, anyone, source) for source in sources]
        return replace(self, values=values)

    @property
    def continues(self) -> bool:
        """Whether the outputs of its own last version are among its inputs."""
        return self._id.lower() in (source.lower() for source in self.sources("kernel"))

    def continuing(self) -> Metadata:
        """The same kernel with the outputs of its own last version attached; it needs an owner."""
        if self.continues:
            return self
        sources = [*self.sources("kernel"), self._id]
        return replace(self, values={**self.values, "kernel_sources": sources})

    def attaching(self, kind: str, sources: Iterable[str]) -> Metadata:
        """The same kernel with these datasets or models (`kind`) among its sources."""
        attached = list(dict.fromkeys([*self.sources(kind), *sources]))
        return replace(self, values={**self.values, f"{kind}_sources": attached})

    def on(self, machine: Machine) -> Metadata:
        """The same kernel on another machine, with matching shape and flags."""
        flags = {f"enable_{kind}": machine.kind == kind for kind in ("gpu", "tpu")}
        values = {**self.values, **flags, "machine_shape": machine.shape}
        return replace(self, values=values)


def _of(owners: Sequence[str], username: str, source: str) -> str:
    """A source with its owner replaced by `username`, if it is one of the `owners` (upper case)."""
    owner, slash, rest = source.partition("/")
    return f"{username}{slash}{rest}" if owner and owner.upper() in owners else source


def bare_source(kind: str, source: str) -> str:
    """A source without the beginning of its URL ("competitions/titanic": "titanic")."""
    bare = source.removeprefix("https://www.kaggle.com/")
    bare = bare.removeprefix("competitions/").removeprefix(PLACES[kind]).rstrip("/")
    return bare if re.fullmatch(SHAPES[kind][0], bare) else source


def meant(code_file: Path) -> str:
    """The file's name in its actual case, or a file with another ending; empty if there is none."""
    folder = code_file.parent
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    names = [code_file.name, *(f"{code_file.stem}{end}" for end in (".ipynb", ".py", ".r"))]
    return next((n for name in names for n in there if n.lower() == name.lower()), "")


def own_file(notebook: Path) -> Path:
    """The path of a notebook's own metadata, which need not exist."""
    return notebook.with_name(f"{notebook.stem}.{FILE_NAME}")


def load(path: Path) -> Metadata:
    """Read the metadata from a file, or from the folder that contains it.

    Raises `PreflightError` if there is none, or if it is not a JSON object.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    values = json_object(path, f"no {FILE_NAME} at {path}: give its path with --metadata")
    for key, value in values.items():
        # As Kaggle's client reads it: `kaggle kernels init` writes "true" for true.
        if KEYS.get(key) is bool and isinstance(value, str):
            values[key] = {"true": True, "false": False}.get(value.lower(), value)
    return Metadata(path, values)


def json_object(path: Path, missing: str) -> dict[str, Any]:
    """The JSON object in a file; raises `PreflightError`, with the text `missing` if there is no
    file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PreflightError(missing) from None
    except ValueError as error:
        raise PreflightError(f"{path} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise PreflightError(f"{path} must contain one JSON object")
    return values


def save_request(metadata: Metadata, text: str, timeout_seconds: int | None) -> dict[str, Any]:
    """The fields of Kaggle's SaveKernel request, by their names in the SDK.

    A pinned image is never sent for a TPU: Kaggle would start the CPU image instead.
    """
    values, machine = metadata.values, metadata.machine
    request = {
        "slug": values.get("id"),
        "new_title": metadata.title or None,
        "text": text,
        "language": values.get("language", "python"),
        "kernel_type": values.get("kernel_type", "notebook"),
        "is_private": values.get("is_private", True),
        "enable_gpu": machine.kind == "gpu",
        "enable_tpu": machine.kind == "tpu",
        "enable_internet": values.get("enable_internet", True),
        "category_ids": list(values.get("keywords") or []),
        "machine_shape": machine.shape or None,
        "session_timeout_seconds": timeout_seconds,
    }
    for kind in SOURCES:
        request[f"{kind}_data_sources"] = metadata.sources(kind)
    if machine.kind != "tpu":
        request["docker_image"] = values.get("docker_image")
        request["docker_image_pinning_type"] = values.get("docker_image_pinning_type")
    return {name: value for name, value in request.items() if value is not None}
