"""The checks of what code reads: files of this machine, and inputs below /kaggle/input."""

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kernelkit import files
from kernelkit.kaggle.client import is_placeholder
from kernelkit.notebook.records import WRITING, Call, Input, Reading
from kernelkit.push.checks.findings import MINOR, PROBABLE, Finding, guess
from kernelkit.push.checks.locations import at, several
from kernelkit.push.plan import Plan

OUTPUT = "output"  # the parameter with the folder that a run writes to
READS = ("read", "load", "open")  # how the names of functions that read a file begin
# Folders that a session has by itself, as the beginnings of paths.
OF_KAGGLE = ("../input/", "../working/", "/kaggle/")
OF_SYSTEM = ("/tmp/", "/root/", "/usr/", "/opt/", "/etc/", "/var/", "/lib", "/proc/", "/dev/")  # noqa: S108
# How those begin that make files with names of their own, or leave the folder.
BRINGS_FILES = ("extract", "unpack", "download", "chdir")
# The folders below /kaggle/input by the kind of the source, each with the parts of a source's name.
MOUNTS = {"competition": "competitions", "dataset": "datasets"}
MOUNTS |= {"model": "models", "kernel": "notebooks"}
NAMED_BY = {"competition": 1, "dataset": 2, "model": 2, "kernel": 2}


def paths(plan: Plan) -> Iterator[Finding]:
    """Parameters and reads of code that name what exists only on this machine."""
    values = {(name, value) for name, value in plan.values if isinstance(value, str)}
    for name, value in sorted(values):
        if "/" in value and name != OUTPUT and _is_here(Path(value)):
            yield guess(
                f"{name}={value} is on this machine only: attach its contents (kernelkit upload "
                "FOLDER) and give the path at which the session has them",
                PROBABLE,
            )
    yield from _local_reads(plan)


def _local_reads(plan: Plan) -> Iterator[Finding]:
    """Files that code opens or a command names, and that neither a push nor a session brings.

    They lie on this machine; or a call reads them that always runs, nothing else in the code
    names them, and none of it may bring files or leave its folder. Of a call below a condition the
    code has thought.
    """
    cells = plan.bundle.program
    folder = plan.metadata.code_file.parent
    known = {*plan.bundle.places, *plan.bundle.stays, plan.metadata.code_file.name}
    read: dict[str, list[str]] = {}  # a name, and its places
    certain: set[str] = set()
    for place, call in cells.calls:
        name = _read_by(call)
        if name and not call.guarded:
            read.setdefault(name, []).append(at(place, call.line))
            if not call.in_function and _is_file_name(name):
                certain.add(name)
    for place, reading in cells.sources:
        for command in reading.commands:
            for word in command.words[1:]:
                read.setdefault(word, []).append(at(place, command.line))
    for _, reading in plan.bundle.readings:
        known.update(each.path for each in reading.writes)
    for program in plan.bundle.programs:
        for _, call in program.calls:
            if not _read_by(call):  # it may write what it names, as `to_csv` does
                values = (*call.arguments, *call.keywords.values())
                known.update(value for value in values if isinstance(value, str))
    if any(_may_bring_files(reading) for _, reading in plan.bundle.readings):
        certain.clear()
    for name, places in read.items():
        path = posixpath.normpath(name)
        if name in known or path in known or path.startswith(("-", *OF_KAGGLE, *OF_SYSTEM)):
            continue
        if name in certain or files.is_file(folder / path):
            yield guess(
                f"{several(places)} reads {name}, which a push does not bring: read it below "
                "/kaggle/input, from an attached source that has it",
                PROBABLE,
            )


def _is_file_name(name: str) -> bool:
    """Whether a text that is given to a reading call is surely the name of a file."""
    ending = PurePosixPath(name).suffix[1:]
    return ending[:1].isalpha() and ending.isalnum() and " " not in name and "://" not in name


def _may_bring_files(reading: Reading) -> bool:
    """Whether code may make files whose names it does not say, or go to another folder."""
    for command in reading.commands:
        is_harmless = command.is_magic or "install" in command.words
        if command.words[0] == "cd" or not is_harmless:
            return True
    lasts = (call.name.rpartition(".")[2] for call in reading.calls)
    return bool(reading.starts) or any(last.startswith(BRINGS_FILES) for last in lasts)


def _read_by(call: Call) -> str:
    """The file that a call reads; empty if it reads none, or a literal does not name it."""
    if not call.name.rpartition(".")[2].startswith(READS):
        return ""
    file = call.arguments[0] if call.arguments else None
    if not isinstance(file, str):
        return ""
    mode = call.argument(1, "mode")
    return "" if isinstance(mode, str) and mode.startswith(WRITING) else file


def _is_here(path: Path) -> bool:
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False


class _Source(NamedTuple):
    """What a path below /kaggle/input is of, in lower case: `kind` is empty at a former mount."""

    kind: str
    name: str

    @property
    def folder(self) -> str:
        """Where Kaggle mounts it today."""
        return f"/kaggle/input/{MOUNTS[self.kind]}/{self.name}"


class _Read(NamedTuple):
    """A source that code names, where and how; `own`: in the notebook or script itself."""

    place: str
    input: Input
    source: _Source
    own: bool

    @property
    def folder(self) -> str:
        """The source's folder as the code names it."""
        depth = 1 + NAMED_BY[self.source.kind] if self.source.kind else 1
        top = "../input" if self.input.relative else "/kaggle/input"
        return "/".join([top, *self.input.path.split("/")[:depth]])


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that code reads and that are not attached, or at former mounts, or that it writes."""
    attached = _attached(plan)
    today = {source.name.rpartition("/")[2]: source for source in attached}
    reads = list(_reads(plan))
    known = {read.source for read in reads if read.source.kind}
    lacking: list[_Read] = []
    former: list[_Read] = []
    written: list[_Read] = []
    for read in reads:
        if read.input.role == "written":
            written.append(read)
        elif read.input.role == "optional":
            continue
        elif not read.source.kind and read.source.name in today:
            if today[read.source.name] not in known:
                former.append(read)
        elif read.own and not _is_attached(read.source, attached):
            lacking.append(read)
    if written:
        yield guess(
            f"{_where(written)} writes {_folders(written)}, and nothing can be written below "
            "/kaggle/input: write to /kaggle/working",
            PROBABLE,
        )
    if lacking:
        text = (
            f"{_where(lacking)} reads {_folders(lacking)}, which no attached source has: "
            "attach the source that has it"
        )
        if attached and any(not read.source.kind for read in lacking):
            text += f", or name today's mount of one that is attached, as {attached[0].folder}"
        yield guess(text, PROBABLE)
    if former:
        todays = dict.fromkeys(today[read.source.name].folder for read in former)
        yield guess(
            f"{_where(former)} reads {_folders(former)}, and some sessions have only "
            f"{', '.join(todays)}: try both",
            MINOR,
        )


def _reads(plan: Plan) -> Iterator[_Read]:
    for number, program in enumerate(plan.bundle.programs):
        for place, each in program.inputs:
            source = _source_of(each.path)
            if source:
                yield _Read(place, each, source, number == 0)


def _attached(plan: Plan) -> list[_Source]:
    found = []
    for kind, source in plan.sources:
        parts = source.split("/")[: NAMED_BY[kind]]
        if not is_placeholder(parts[0]):
            parts[0] = parts[0].lower()
        found.append(_Source(kind, "/".join([parts[0], *map(str.lower, parts[1:])])))
    return found


def _is_attached(source: _Source, attached: Sequence[_Source]) -> bool:
    """Whether a source is attached; that of a placeholder's account may be anybody's."""
    owner, _, slug = source.name.rpartition("/")
    for other in attached:
        others, _, name = other.name.rpartition("/")
        is_same = other.kind == source.kind and name == slug
        if is_same and (others == owner or is_placeholder(others)):
            return True
    return False


def _source_of(path: str) -> _Source | None:
    """The source of a path relative to /kaggle/input; None if it does not go as far as one."""
    parts = path.lower().split("/")
    for kind, folder in MOUNTS.items():
        if parts[0] == folder:
            name = parts[1 : NAMED_BY[kind] + 1]
            is_whole = len(name) == NAMED_BY[kind] and all(map(_is_name, name))
            return _Source(kind, "/".join(name)) if is_whole else None
    return _Source("", parts[0]) if _is_name(parts[0]) else None


def _is_name(part: str) -> bool:
    return bool(part) and part.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _folders(reads: Sequence[_Read]) -> str:
    return ", ".join(dict.fromkeys(read.folder for read in reads))


def _where(reads: Sequence[_Read]) -> str:
    return several(at(read.place, read.input.line) for read in reads)
