"""The check of what code reads that lies on this machine alone."""

import posixpath
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kernelkit import files
from kernelkit.notebook.code.records import WRITING, Call, Reading
from kernelkit.push.checks.code.locations import at, several
from kernelkit.push.checks.findings import PROBABLE, Finding, guess
from kernelkit.push.planned.plan import Plan

OUTPUT = "output"  # the parameter with the folder that a run writes to
READS = ("read", "load", "open")  # how the names of functions that read a file begin
# Folders that a session has by itself, as the beginnings of paths.
OF_KAGGLE = ("../input/", "../working/", "/kaggle/")
OF_SYSTEM = ("/tmp/", "/root/", "/usr/", "/opt/", "/etc/", "/var/", "/lib", "/proc/", "/dev/")  # noqa: S108
# How those begin that make files with names of their own, or leave the folder.
BRINGS_FILES = ("extract", "unpack", "download", "chdir")


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
