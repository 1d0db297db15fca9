"""The check of what code reads that lies on this machine alone."""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from kernelkit import files
from kernelkit.notebook.code.records import WRITING, Call
from kernelkit.push.checks.findings import PROBABLE, Finding, guess
from kernelkit.push.checks.locations import where
from kernelkit.push.planned.plan import Plan

OUTPUT = "output"  # the parameter with the folder that a run writes to
READS = ("read", "load", "open")  # how the names of functions that read a file begin
# Folders that a session has by itself, as the beginnings of paths.
OF_KAGGLE = ("../input/", "../working/", "/kaggle/")
OF_SYSTEM = ("/tmp/", "/root/", "/usr/", "/opt/", "/etc/", "/var/", "/lib", "/proc/", "/dev/")  # noqa: S108


def paths(plan: Plan) -> Iterator[Finding]:
    """Parameters and reads of code that name what exists only on this machine."""
    values = {(name, value) for name, value in plan.values if isinstance(value, str)}
    for name, value in sorted(values):
        if "/" not in value or name == OUTPUT or _is_of_kaggle(value):
            continue
        if _is_here(Path(value)):
            yield guess(
                f"{name}={value} is on this machine only: attach its contents (kernelkit upload "
                "FOLDER) and give the path at which the session has them",
                PROBABLE,
            )
    yield from _local_reads(plan)


def _local_reads(plan: Plan) -> Iterator[Finding]:
    """Files beside the notebook that code reads, or a command names, and that no push brings."""
    named, known = _named(plan)
    known.update(plan.bundle.files.places, plan.bundle.files.stays, [plan.metadata.code_file.name])
    folder = plan.metadata.code_file.parent
    for name, lines in named.items():
        path = posixpath.normpath(name)
        if name in known or path in known or path.startswith(("-", *OF_SYSTEM)):
            continue
        if _is_of_kaggle(path):
            continue
        if files.is_file(folder / path):
            yield guess(
                f"{where(lines)} names {name}, which a push does not bring: to read it, attach "
                "a source that has it, and give its path below /kaggle/input",
                PROBABLE,
            )


def _named(plan: Plan) -> tuple[dict[str, list[tuple[str, int]]], set[str]]:
    """What may be files that the notebook's code reads, each with the lines that name it, and what
    may be outputs.

    The first are what its calls read, and all words of its commands. A guarded call or command is
    provided for, and left out. The others are what a cell writes, and the texts given to calls that
    read none, of bundled modules too.
    """
    named: dict[str, list[tuple[str, int]]] = {}
    written = {each.path for _, reading in plan.bundle.readings for each in reading.writes}
    for program in plan.bundle.programs:
        for place, call in program.calls:
            name = _read_by(call)
            if not name:
                values = (*call.arguments, *call.keywords.values())
                written.update(value for value in values if isinstance(value, str))
            elif program is plan.bundle.program and not call.guarded:
                named.setdefault(name, []).append((place, call.line))
    for place, reading in plan.bundle.program.sources:
        for command in reading.commands:
            if command.guarded:
                continue
            for word in command.words[1:]:
                named.setdefault(word, []).append((place, command.line))
    return named, written


def _read_by(call: Call) -> str:
    """The file that a call reads; empty if it reads none, or a literal does not name it."""
    if not call.name.rpartition(".")[2].startswith(READS):
        return ""
    file = call.arguments[0] if call.arguments else None
    if not isinstance(file, str):
        return ""
    mode = call.argument(1, "mode")
    return "" if isinstance(mode, str) and mode.startswith(WRITING) else file


def _is_of_kaggle(path: str) -> bool:
    return f"{posixpath.normpath(path)}/".startswith(OF_KAGGLE)


def _is_here(path: Path) -> bool:
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False
