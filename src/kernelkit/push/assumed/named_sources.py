"""The sources that a notebook's code names, by kind, as in a kernel's metadata."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernelkit import project
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.code.records import Call
from kernelkit.push.described.metadata import DEPTHS, SHAPES
from kernelkit.rehearsal import inputs

# The kinds of sources by their folders below /kaggle/input, as {"datasets": "dataset"}.
KINDS = {folder: kind for kind, folder in inputs.MOUNTED.items()}
# Calls that take the handle of a source: its kind, and the handle's position.
ATTACHES = {
    "kagglehub.competition_download": ("competition", 0),
    "kagglehub.dataset_download": ("dataset", 0),
    "kagglehub.dataset_load": ("dataset", 1),
    "kagglehub.load_dataset": ("dataset", 1),
    "kagglehub.model_download": ("model", 0),
    "kagglehub.notebook_output_download": ("kernel", 0),
}

Found = dict[str, list[str]]  # sources by kind
Parts = tuple[str, ...]  # of a path below /kaggle/input, or in an `input/` folder


def named_sources(programs: Sequence[Program], notebook: Path) -> tuple[Found, tuple[str, ...]]:
    """The sources by kind, and the competitions among them that may be something else.

    They are those that the code names, or, if it names none, those in the `input/` folders.
    """
    held = _held(notebook)
    found: Found = {kind: [] for kind in SOURCES}
    slugs = _add_paths(found, _named(programs, held))
    calls = [each for program in programs for each in program.calls]
    for _, _, source in loaded_sources(calls):
        _add(found, *source)
    unknown = _add_slugs(found, slugs, held)
    if not any(found.values()):
        slugs = _add_paths(found, held)
        unknown = _add_slugs(found, slugs, held)
    return found, unknown


def _held(notebook: Path) -> list[Parts]:
    """The paths of the sources in the `input/` folders of a notebook.

    A source lies in the folder of its kind, such as datasets/OWNER/SLUG, or at the top, as SLUG.
    """
    own = project.find_project(notebook)
    held = []
    for folder in inputs.input_folders(notebook, own.root, own.repository):
        for top in _folders_in(folder):
            sources = [top]
            for _ in range(_depth(top.name)):
                sources = [below for each in sources for below in _folders_in(each)]
            held += [source.relative_to(folder).parts for source in sources]
    return held


def _folders_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_dir()]


def _named(programs: Iterable[Program], held: Sequence[Parts]) -> list[Parts]:
    """The paths below /kaggle/input that code names.

    A path that the code can do without is left out if the `input/` folders have sources (`held`)
    that share no folder's name with it.
    """
    here = {part.lower() for parts in held for part in parts} - set(KINDS)
    named = []
    for _, each in (found for program in programs for found in program.inputs):
        parts = tuple(each.path.strip("/").split("/"))
        is_here = not here.isdisjoint(part.lower() for part in parts)
        if is_here or not here or not each.optional:
            named.append(parts)
    return named


def _add_paths(found: Found, paths: Iterable[Parts]) -> list[str]:
    """Add the sources of paths such as datasets/OWNER/SLUG.

    Returns the first part of each other path: of `/kaggle/input/SLUG` the slug, whose kind the path
    does not say.
    """
    return [parts[0] for parts in paths if not _add_path(found, parts)]


def _add_path(found: Found, parts: Parts) -> bool:
    """Add the source of a path such as datasets/OWNER/SLUG; returns whether it is such a path."""
    kind = KINDS.get(parts[0])
    if kind is None:
        return False
    return _add(found, kind, "/".join(parts[1 : _depth(parts[0]) + 1]))


def _add_slugs(found: Found, slugs: Iterable[str], held: Sequence[Parts]) -> tuple[str, ...]:
    """Add sources of which only the slug is known; returns those that are taken for a competition.

    A slug that a source in `found` has means that source. Otherwise it means the source with this
    slug in the folder of a kind below `input/`, and without one a competition.
    """
    known = set(KINDS)
    for kind in SOURCES:
        for source in found[kind]:
            first_two = source.lower().split("/")[:2]  # of "slug", or "owner/slug/…"
            known.add(first_two[-1])
    unknown = []
    for slug in dict.fromkeys(slugs):
        if slug.lower() in known:
            continue
        of_a_kind = [parts for parts in held if parts[0] in KINDS and slug in parts]
        if of_a_kind and _add_path(found, of_a_kind[0]):
            continue
        if _add(found, "competition", slug):
            unknown.append(slug)
    return tuple(unknown)


def _depth(folder: str) -> int:
    """How many folders deep the sources of a kind's folder lie, a model's version included.

    It is 0 for a folder of no kind, which is a source itself.
    """
    kind = KINDS.get(folder)
    if kind is None:
        return 0
    return DEPTHS[kind] + 1 if kind == "model" else DEPTHS[kind]


def _add(found: Found, kind: str, source: str) -> bool:
    """Add a source, once; returns False for one that has not the form of its kind."""
    if not re.fullmatch(SHAPES[kind][0], source, re.ASCII):
        return False
    if source not in found[kind]:
        found[kind].append(source)
    return True


def loaded_sources(
    calls: Iterable[tuple[str, Call]],
) -> Iterator[tuple[str, Call, tuple[str, str]]]:
    """The calls by which kagglehub loads a source: the place, the call, the source's kind and name.

    `calls` are calls with their places. A name is as in a kernel's metadata: `owner/slug/3` for the
    handle `owner/slug/versions/3`.
    """
    for place, call in calls:
        source = _source_of(call)
        if source:
            yield place, call, source


def _source_of(call: Call) -> tuple[str, str] | None:
    if call.name not in ATTACHES:
        return None
    kind, position = ATTACHES[call.name]
    handle = call.argument(position, "handle")
    if not isinstance(handle, str):
        return None
    return kind, handle.replace("/versions/", "/")
