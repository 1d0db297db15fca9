"""What can be known to go wrong before anything is sent, without the network.

Kaggle accepts a great deal in silence: a misspelt key, a source with a prefix, a machine
that no longer exists, an image that pins a TPU run to the CPU. Each is found here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kernelkit import bundle as bundles
from kernelkit import leaks, machines
from kernelkit.bundle import Bundle
from kernelkit.errors import PreflightError
from kernelkit.metadata import KEYS, Metadata
from kernelkit.project import Project

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


@dataclass(frozen=True)
class Finding:
    """One thing found: an `error` stops the push, a `warning` is printed."""

    level: Literal["error", "warning"]
    text: str


@dataclass(frozen=True)
class Wish:
    """What is asked of a push besides its metadata.

    `parameters` are all of the notebook's, the defaults among them; `timeout_minutes` is
    None where none was asked for.
    """

    metadata: Metadata
    bundle: Bundle
    project: Project
    parameters: Mapping[str, Any]
    timeout_minutes: float | None


def offline(wish: Wish) -> list[Finding]:
    """Every finding that needs no network, errors first."""
    found = [
        *_keys(wish.metadata),
        *_identity(wish.metadata),
        *_code(wish.metadata),
        *_sources(wish.metadata),
        *_machine(wish.metadata),
        *_session(wish),
        *_needs(wish),
        *_bundle(wish.bundle),
        *_leaks(wish),
    ]
    return sorted(found, key=lambda finding: finding.level)


def stop_on_errors(found: Sequence[Finding]) -> None:
    """Raise one `PreflightError` that lists every error among the findings."""
    errors = [finding.text for finding in found if finding.level == "error"]
    if errors:
        listed = "\n".join(f"  - {text}" for text in errors)
        raise PreflightError(f"the preflight found {len(errors)} to correct:\n{listed}")


def _error(text: str) -> Finding:
    return Finding("error", text)


def _warning(text: str) -> Finding:
    return Finding("warning", text)


def _keys(metadata: Metadata) -> Iterator[Finding]:
    for key, value in metadata.values.items():
        if key in NOT_READ:
            yield _error(f"Kaggle ignores the key {key!r}: {NOT_READ[key]}")
        elif key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "take it out"
            yield _error(f"Kaggle ignores the unknown key {key!r}: {hint}")
        elif value is not None and type(value) is not KEYS[key]:
            yield _error(f"{key} must be a JSON {KEYS[key].__name__}, not {value!r}")


def _identity(metadata: Metadata) -> Iterator[Finding]:
    parts = str(metadata.values.get("id") or "").split("/")
    if parts == [""]:
        yield _error('no id: write "id": "INSERT_USERNAME/slug-of-the-title"')
        return
    if len(parts) == 3:
        yield _error(f"id {'/'.join(parts)!r} carries a version: it is owner/slug")
        return
    if len(parts) != 2 or not all(re.fullmatch(r"[\w-]+", part) for part in parts):
        yield _error(f"id {'/'.join(parts)!r} is not owner/slug")
        return
    if len(metadata.slug) < 5:
        yield _error(f"the slug {metadata.slug!r} is shorter than Kaggle's five characters")
    if len(metadata.title) < 5:
        yield _error(f"the title {metadata.title!r} is shorter than Kaggle's five characters")
        return
    from slugify import slugify  # what Kaggle's client derives it with

    derived = slugify(metadata.title)
    if derived != metadata.slug.lower():
        yield _error(
            f"Kaggle derives the slug from the title, and {metadata.title!r} gives {derived!r}, "
            f"not {metadata.slug!r}: the push would make another kernel"
        )


def _code(metadata: Metadata) -> Iterator[Finding]:
    language = metadata.values.get("language")
    kind = metadata.values.get("kernel_type")
    if language != "python":
        yield _error(f'language is {language!r}: kernelkit pushes "python"')
    if kind != "notebook":
        yield _error(f'kernel_type is {kind!r}: kernelkit pushes a "notebook"')
    if not metadata.values.get("code_file"):
        yield _error("no code_file: name the notebook, relative to the metadata")
    elif not metadata.code_file.is_file():
        yield _error(f"code_file {metadata.values['code_file']} is not there")
    elif _differs_from_pair(metadata.code_file):
        yield _error(
            f"{metadata.code_file.name} differs from the .py beside it: bring them together "
            f"with `jupytext --sync {metadata.values['code_file']}`"
        )
    if metadata.values.get("is_private") is False:
        yield _warning("is_private is false: the notebook and its outputs will be public")


def _differs_from_pair(notebook: Path) -> bool:
    """Whether a code cell is not in the paired `.py`, compared without jupytext's second."""
    pair = notebook.with_suffix(".py")
    if notebook.suffix != ".ipynb" or not pair.is_file():
        return False
    text = pair.read_text(encoding="utf-8")
    cells = bundles.read_json(notebook)["cells"]
    sources = ["".join(c["source"]).strip() for c in cells if c["cell_type"] == "code"]
    plain = [source for source in sources if not re.search(r"(?m)^\s*[%!]", source)]
    return any(source not in text for source in plain)


def _sources(metadata: Metadata) -> Iterator[Finding]:
    for kind, (pattern, form) in SHAPES.items():
        sources = metadata.sources(kind)
        for source in sources:
            bare = source.removeprefix("https://www.kaggle.com/")
            bare = bare.removeprefix("competitions/").removeprefix(PLACES[kind])
            if bare != source:
                yield _error(f"{kind}_sources: write {bare!r}; Kaggle drops {source!r}")
            elif not re.fullmatch(pattern, source):
                yield _error(f"{kind}_sources: {source!r} is not {form}")
        for source in sorted({s for s in sources if sources.count(s) > 1}):
            yield _warning(f"{kind}_sources: {source!r} is there twice")


def _machine(metadata: Metadata) -> Iterator[Finding]:
    try:
        machine = metadata.machine
    except PreflightError as error:
        yield _error(str(error))
        return
    values = metadata.values
    if values.get("enable_gpu") and values.get("enable_tpu"):
        yield _error("enable_gpu and enable_tpu are both true: choose one")
    for kind in ("gpu", "tpu"):
        if values.get(f"enable_{kind}") and machine.kind != kind:
            yield _error(
                f"enable_{kind} is true, but machine_shape is {machine.shape} ({machine.words})"
            )
    if not machine.common:
        yield _warning(
            f"{machine.shape} is listed for some accounts only; others are given another machine"
        )
    yield from _image(values, machine)


def _image(values: Mapping[str, Any], machine: machines.Machine) -> Iterator[Finding]:
    pinned = bool(values.get("docker_image"))
    pinning = values.get("docker_image_pinning_type")
    if pinning not in (None, "original", "latest"):
        yield _error(f"docker_image_pinning_type is {pinning!r}: original or latest")
    if machine.kind == "tpu" and (pinned or pinning == "original"):
        key = "docker_image" if pinned else "docker_image_pinning_type"
        yield _error(f"{key} pins the image, and a TPU push would start the CPU's: take it out")
    elif pinned:
        yield _warning("docker_image pins the image: newer packages will not reach this kernel")


def _session(wish: Wish) -> Iterator[Finding]:
    minutes = wish.timeout_minutes
    try:
        machine = wish.metadata.machine
    except PreflightError:
        return
    limit = machines.LIMITS[machine.kind].hours_per_session * 60
    if minutes is not None and minutes <= 0:
        yield _error(f"--timeout {minutes:g}: give minutes above zero")
    elif minutes is not None and minutes > limit:
        yield _error(
            f"--timeout {minutes:g} is past the {limit / 60:g} hours that Kaggle gives a "
            f"{machine.kind.upper()} session ({limit:g} minutes)"
        )


def _needs(wish: Wish) -> Iterator[Finding]:
    """Internet and competition data: what the parameters ask for against what is switched on."""
    online = wish.metadata.values.get("enable_internet", True)
    wants = _asked(wish, "internet")
    if wants and not online:
        yield _error(f"{wants} needs the internet, which is off: set enable_internet to true")
    if online and not wants:
        yield _warning("enable_internet is on though no parameter needs it: set it to false")
    if online and wants:
        yield _warning("Kaggle ignores enable_internet for accounts without a verified phone")
    wants = _asked(wish, "competition")
    if wants and not wish.metadata.sources("competition"):
        yield _error(f"{wants} reads the competition's files: add it to competition_sources")


def _asked(wish: Wish, need: str) -> str:
    """The first `name=value` of the project's needs that the parameters match."""
    for pair in wish.project.needs.get(need, ()):
        name, _, value = pair.partition("=")
        if name in wish.parameters and str(wish.parameters[name]) == value:
            return pair
    return ""


def _bundle(bundle: Bundle) -> Iterator[Finding]:
    try:
        said = bundles.check_size(bundle)
    except PreflightError as error:
        yield _error(str(error))
        return
    if "over" in said:
        yield _warning(f"the bundle has {said}")
    if "kaggle" in bundle.traces:
        yield _warning(
            "the notebook's metadata.kaggle (left by `kernels pull -m`) would have pinned the "
            "image and is not sent"
        )


def _leaks(wish: Wish) -> Iterator[Finding]:
    path: Path = wish.metadata.path
    own = leaks.find([(path.name, path.read_text(encoding="utf-8"))]) if path.is_file() else ()
    for leak in [*wish.bundle.leaks, *own]:
        yield _error(f"{leak}: take it out before it leaves this machine")
