"""The checks of what code reads: files of this machine, and inputs below /kaggle/input."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kernelkit import files
from kernelkit.kaggle.client import SOURCES, is_placeholder
from kernelkit.notebook import magics
from kernelkit.notebook.modules import files_started, files_written
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.checks.mentions import Mention, mentions
from kernelkit.push.checks.places import several
from kernelkit.push.plan import Plan

OUTPUT = "output"  # the parameter with the folder that a run writes to
# A call such as pd.read_csv("data/train.csv"), but not open("log.txt", "w").
READS = re.compile(r"(?:read|load|open)\w*\(\s*[\"']([^\"'\n]+)[\"'](?!\s*,\s*[\"'][wax])")
# Code that does one thing on Kaggle and another here. A comment or a name of a package is none.
KNOWS_KAGGLE = re.compile(r"(?i)/kaggle\b|\bKAGGLE_|\bkagglehub\b|\b(?:is|in|on)_?kaggle\b")
MOUNTS = ("competitions", "datasets", "models", "notebooks")  # the folders below /kaggle/input


def paths(plan: Plan) -> Iterator[Finding]:
    """Parameters and reads of code that name what exists only on this machine."""
    values = {(name, value) for name, value in plan.values if isinstance(value, str)}
    for name, value in sorted(values):
        if "/" in value and name != OUTPUT and _is_here(value):
            yield error(
                f"{name}={value} is on this machine only: attach its contents (kernelkit upload "
                "FOLDER) and give the path at which the session has them"
            )
    yield from _local_reads(plan)


def _local_reads(plan: Plan) -> Iterator[Finding]:
    """Files beside the notebook that code reads, unless it writes them or knows Kaggle."""
    text = "\n".join(source for _, source in plan.bundle.code)
    folder = plan.metadata.code_file.parent
    places: dict[str, list[str]] = {}
    if not KNOWS_KAGGLE.search(text):
        reads = READS.findall(text)
        for place, source in plan.bundle.code:
            for name in dict.fromkeys(READS.findall(source)):
                if name.startswith("../input/"):  # Kaggle's place for inputs: see `mounts`
                    continue
                if _is_here(str(folder / name)) and reads.count(name) == text.count(name):
                    places.setdefault(name, []).append(place)
    for place, source in plan.bundle.code:
        for name in dict.fromkeys(files_started(source)):
            own = not Path(name).is_absolute() and files.is_file(folder / name)
            if own and folder / name != plan.metadata.code_file:
                places.setdefault(name, []).append(place)
    known = {*plan.bundle.places, *plan.bundle.stays, *written(plan)}
    for name, where in places.items():
        if name not in known:
            yield warning(
                f"{several(where)} reads {name}, which is not pushed: attach it, or the "
                "competition that has it, and read it from /kaggle/input"
            )


def written(plan: Plan) -> set[str]:
    """The files that cells write with `%%writefile`, and the Python files that they write."""
    written = (magics.written(source) for _, source in plan.bundle.code)
    named = {file.path for file in written if file}
    return named.union(*(files_written(source) for _, source in plan.bundle.code))


def _is_here(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that code looks for at Kaggle's former mount points, or that are not attached."""
    named: dict[str, list[Mention]] = {}
    for mention in mentions(plan.bundle.sources):
        named.setdefault(mention.name.lower(), []).append(mention)
    attached = set(MOUNTS)
    for kind in SOURCES:
        for source in plan.metadata.sources(kind):
            parts = source.split("/")[:2]
            attached.add(parts[-1].lower())
            found = named.get(parts[-1].lower(), [])
            knows = re.compile(rf"\b{kind}s[/'\"]").search
            knowing = {place for place, text in plan.bundle.sources if knows(text)}
            old = [mention for mention in found if _stays_old(mention, knowing)]
            if old and kind != "kernel":
                today = _mount(kind, source)
                yield warning(
                    f"{_where(plan, old)} reads /kaggle/input/{old[0].name}, an older mount that "
                    f"some machines no longer have: Kaggle mounts it at {today}"
                )
    own = {place for place, _ in plan.bundle.code}
    for name, where in named.items():
        in_cells = [mention for mention in where if mention.place in own and mention.needed]
        if in_cells and name not in attached:
            yield warning(_unattached(plan, in_cells))


def _stays_old(mention: Mention, knowing: Collection[str]) -> bool:
    """Whether code reads a former mount and tries no other; `knowing` are the places that name
    today's. A command runs as it stands, whatever other places know."""
    if mention.command and mention.needed:
        return mention.place not in knowing
    return not mention.searched and not knowing


def _mount(kind: str, source: str) -> str:
    """Where Kaggle mounts a source: slugs are in lower case, whatever the metadata's capitals."""
    owner, slash, slug = "/".join(source.split("/")[:2]).rpartition("/")
    if not is_placeholder(owner):
        owner = owner.lower()
    return f"/kaggle/input/{kind}s/{owner}{slash}{slug.lower()}"


def _unattached(plan: Plan, where: Sequence[Mention]) -> str:
    """What to say of a folder below /kaggle/input that no source has."""
    name = where[0].name
    place = _where(plan, where)
    sources = [source for kind in SOURCES for source in plan.metadata.sources(kind)]
    if all(mention.relative for mention in where) and len(sources) == 1:
        kind = next(kind for kind in SOURCES if plan.metadata.sources(kind))
        today = _mount(kind, sources[0])
        return (
            f"{place} reads ../input/{name}, where Kaggle once mounted the files of a single "
            f"source: if it is in {sources[0]}, it is at {today}/{name} today; otherwise attach "
            "what has it"
        )
    return (
        f"{place} reads /kaggle/input/{name}, but no source of that name is attached: add it to "
        "the sources in kernel-metadata.json"
    )


def _where(plan: Plan, found: Sequence[Mention]) -> str:
    """The places of mentions; in a script with their lines."""
    if plan.metadata.is_script:
        return several(f"{each.place}, line {each.line}" for each in found)
    return several(each.place for each in found)
