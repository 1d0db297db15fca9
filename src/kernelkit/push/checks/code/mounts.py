"""The check of the inputs that code names below /kaggle/input, against the attached sources."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from kernelkit.kaggle.metadata_words import is_placeholder
from kernelkit.notebook.code.records import Input
from kernelkit.push.checks.findings import MINOR, PROBABLE, Finding, guess
from kernelkit.push.checks.locations import where
from kernelkit.push.described.metadata import DEPTHS, bare
from kernelkit.push.planned.plan import Plan
from kernelkit.rehearsal.inputs import MOUNTED

MOST = 3  # former mounts to name
OF_EACH_KIND = (
    "/kaggle/input/competitions/SLUG for a competition and "
    "/kaggle/input/datasets/OWNER/SLUG for a dataset"
)


class _Source(NamedTuple):
    """What is below /kaggle/input, in lower case: `kind` is empty at a former mount."""

    kind: str
    name: str

    @property
    def folder(self) -> str:
        """Where Kaggle mounts it today."""
        return f"/kaggle/input/{MOUNTED[self.kind]}/{self.name}"


class _Read(NamedTuple):
    """A source that code names, where and how; `own`: in no bundled module."""

    place: str
    input: Input
    source: _Source
    own: bool

    @property
    def folder(self) -> str:
        """The source's folder as the code names it."""
        depth = 1 + _depth(self.source.kind) if self.source.kind else 1
        return "/".join(["/kaggle/input", *self.input.path.split("/")[:depth]])


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that code names and that are not attached, or at former mounts."""
    attached = _attached(plan)
    attached_by_slug = {source.name.rpartition("/")[2]: source for source in attached}
    reads = list(_reads(plan))
    named_at_todays_mount = {read.source for read in reads if read.source.kind}
    lacking: list[_Read] = []
    former: list[_Read] = []
    for read in reads:
        if read.input.optional:
            continue
        if not read.source.kind and read.source.name in attached_by_slug:
            if attached_by_slug[read.source.name] not in named_at_todays_mount:
                former.append(read)
        elif read.own and not _is_attached(read.source, attached):
            lacking.append(read)
    if lacking:
        folders = ", ".join(_folders(lacking))
        text = (
            f"{_where(lacking)} names {folders}, which no attached source has: "
            "attach the source that has it"
        )
        if attached and any(not read.source.kind for read in lacking):
            text += f", or name today's mount of one that is attached, as {attached[0].folder}"
        yield guess(text, PROBABLE)
    if former:
        todays = dict.fromkeys(attached_by_slug[read.source.name] for read in former)
        yield guess(
            f"{_where(former)} names {_few(_folders(former))}, and some sessions have only "
            f"{_mounts(todays, plan)}: try both",
            MINOR,
        )


def _mounts(sources: Collection[_Source], plan: Plan) -> str:
    """Where Kaggle mounts sources today; of one whose kind nobody knows, what that depends on."""
    unknown = plan.request.assumed.unknown if plan.request.assumed else ()
    slugs = [slug.lower() for slug in unknown]
    if any(source.name in slugs for source in sources):
        return OF_EACH_KIND
    return _few([source.folder for source in sources])


def _few(folders: Sequence[str]) -> str:
    """Some of the folders; of many, the first and their number."""
    if len(folders) <= MOST:
        return ", ".join(folders)
    return f"{', '.join(folders[:MOST])} and {len(folders) - MOST} more"


def _reads(plan: Plan) -> Iterator[_Read]:
    for number, program in enumerate(plan.bundle.programs):
        own = number < len(plan.bundle.own)
        for place, each in program.inputs:
            source = _source_of(each.path)
            if source:
                yield _Read(place, each, source, own)


def _attached(plan: Plan) -> list[_Source]:
    """The attached sources, without their versions."""
    found = []
    for kind, source in plan.sources:
        named = (bare(kind, source) or source).lower()
        found.append(_Source(kind, "/".join(named.split("/")[: _depth(kind)])))
    return found


def _is_attached(source: _Source, attached: Sequence[_Source]) -> bool:
    """Whether a source is attached; one whose owner is a placeholder may be anybody's."""
    owner, _, slug = source.name.rpartition("/")
    for other in attached:
        other_owner, _, other_slug = other.name.rpartition("/")
        is_alike = other.kind == source.kind and other_slug == slug
        if is_alike and (other_owner == owner or is_placeholder(other_owner)):
            return True
    return False


def _source_of(path: str) -> _Source | None:
    """The source of a path relative to /kaggle/input; None if it does not go as far as one."""
    parts = path.lower().split("/")
    for kind, folder in MOUNTED.items():
        if parts[0] == folder:
            name = parts[1 : _depth(kind) + 1]
            is_whole = len(name) == _depth(kind) and all(map(_is_name, name))
            return _Source(kind, "/".join(name)) if is_whole else None
    return _Source("", parts[0]) if _is_name(parts[0]) else None


def _depth(kind: str) -> int:
    """The parts of a path by which it names a source: a model's framework and variation follow."""
    return min(DEPTHS[kind], 2)


def _is_name(part: str) -> bool:
    return bool(part) and part.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _folders(reads: Sequence[_Read]) -> list[str]:
    return list(dict.fromkeys(read.folder for read in reads))


def _where(reads: Sequence[_Read]) -> str:
    return where((read.place, read.input.line) for read in reads)
