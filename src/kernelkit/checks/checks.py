"""The findings of a check, and the checks of a kernel's metadata."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernelkit import machines
from kernelkit.checks.metadata import KEYS, Metadata
from kernelkit.errors import PreflightError
from kernelkit.notebooks import pairs


@dataclass(frozen=True)
class Finding:
    """The result of one check: an `error` stops the push, a `warning` is printed."""

    level: Literal["error", "warning"]
    text: str


def error(text: str) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text)


def warning(text: str) -> Finding:
    """A finding that is printed."""
    return Finding("warning", text)


PLACES = {"dataset": "datasets/", "kernel": "code/", "competition": "c/", "model": "models/"}
SHAPES = {
    "dataset": (r"[\w-]+/[\w-]+(?:/\d+)?", "owner/slug"),
    "kernel": (r"[\w-]+/[\w-]+(?:/\d+)?", "owner/slug"),
    "competition": (r"[\w-]+", "the bare slug"),
    "model": (r"[\w.-]+(?:/[\w.-]+){3}/\d+", "owner/model/framework/variation/version"),
}
NOT_READ = {
    "session_timeout": "give the time with --timeout MINUTES",
    "session_timeout_seconds": "give the time with --timeout MINUTES",
    "priority": "Kaggle's client does not send it",
    "accelerator": "it is called machine_shape",
}


def in_metadata(metadata: Metadata) -> Iterator[Finding]:
    """Every finding in the metadata, and in the pair of files that it names."""
    yield from _keys(metadata)
    yield from _identity(metadata)
    yield from _code(metadata)
    yield from _sources(metadata)
    yield from _machine(metadata)


def _keys(metadata: Metadata) -> Iterator[Finding]:
    for key, value in metadata.values.items():
        if key in NOT_READ:
            yield error(f"Kaggle ignores the key {key!r}: {NOT_READ[key]}")
        elif key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "take it out"
            yield error(f"Kaggle ignores the unknown key {key!r}: {hint}")
        elif value is not None and type(value) is not KEYS[key]:
            yield error(f"{key} must be a JSON {KEYS[key].__name__}, not {value!r}")


def _identity(metadata: Metadata) -> Iterator[Finding]:
    parts = str(metadata.values.get("id") or "").split("/")
    if parts == [""]:
        yield error('no id: write "id": "INSERT_USERNAME/slug-of-the-title"')
        return
    if len(parts) == 3:
        yield error(f"id {'/'.join(parts)!r} carries a version: it is owner/slug")
        return
    if len(parts) != 2 or not all(re.fullmatch(r"[\w-]+", part) for part in parts):
        yield error(f"id {'/'.join(parts)!r} is not owner/slug")
        return
    if len(metadata.slug) < 5:
        yield error(f"the slug {metadata.slug!r} is shorter than Kaggle's five characters")
    if len(metadata.title) < 5:
        yield error(f"the title {metadata.title!r} is shorter than Kaggle's five characters")
        return
    from slugify import slugify  # what Kaggle's client derives it with

    derived = slugify(metadata.title)
    if derived != metadata.slug.lower():
        yield error(
            f"Kaggle derives the slug from the title, and {metadata.title!r} gives {derived!r}, "
            f"not {metadata.slug!r}: the push would make another kernel"
        )


def _code(metadata: Metadata) -> Iterator[Finding]:
    language = metadata.values.get("language")
    kind = metadata.values.get("kernel_type")
    if language != "python":
        yield error(f'language is {language!r}: kernelkit pushes "python"')
    if kind != "notebook":
        yield error(f'kernel_type is {kind!r}: kernelkit pushes a "notebook"')
    if not metadata.values.get("code_file"):
        yield error("no code_file: name the notebook, relative to the metadata")
    elif not metadata.code_file.is_file():
        yield error(f"code_file {metadata.values['code_file']} is not there")
    elif difference := pairs.difference(metadata.code_file):
        yield error(pairs.advice(metadata.code_file, difference))
    if metadata.values.get("is_private") is False:
        yield warning("is_private is false: the notebook and its outputs will be public")


def _sources(metadata: Metadata) -> Iterator[Finding]:
    for kind, (pattern, form) in SHAPES.items():
        sources = metadata.sources(kind)
        for source in sources:
            bare = source.removeprefix("https://www.kaggle.com/")
            bare = bare.removeprefix("competitions/").removeprefix(PLACES[kind])
            if bare != source:
                yield error(f"{kind}_sources: write {bare!r}; Kaggle drops {source!r}")
            elif not re.fullmatch(pattern, source):
                yield error(f"{kind}_sources: {source!r} is not {form}")
        for source in sorted({s for s in sources if sources.count(s) > 1}):
            yield warning(f"{kind}_sources: {source!r} is there twice")


def _machine(metadata: Metadata) -> Iterator[Finding]:
    try:
        machine = metadata.machine
    except PreflightError as raised:
        yield error(str(raised))
        return
    values = metadata.values
    if values.get("enable_gpu") and values.get("enable_tpu"):
        yield error("enable_gpu and enable_tpu are both true: choose one")
    for kind in ("gpu", "tpu"):
        if values.get(f"enable_{kind}") and machine.kind != kind:
            yield error(
                f"enable_{kind} is true, but machine_shape is {machine.shape} ({machine.words})"
            )
    if not machine.common:
        yield warning(
            f"{machine.shape} is listed for some accounts only; others are given another machine"
        )
    yield from _image(values, machine)


def _image(values: Mapping[str, Any], machine: machines.Machine) -> Iterator[Finding]:
    pinned = bool(values.get("docker_image"))
    pinning = values.get("docker_image_pinning_type")
    if pinning not in (None, "original", "latest"):
        yield error(f"docker_image_pinning_type is {pinning!r}: original or latest")
    if machine.kind == "tpu" and (pinned or pinning == "original"):
        key = "docker_image" if pinned else "docker_image_pinning_type"
        yield error(f"{key} pins the image, and a TPU push would start the CPU's: take it out")
    elif pinned:
        yield warning("docker_image pins the image: newer packages will not reach this kernel")
