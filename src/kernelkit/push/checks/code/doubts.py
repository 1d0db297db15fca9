"""The check of what code calls and starts: what a session without network, or its machine, lacks.

`doubts.toml` names the calls and commands, each with a sentence; here is the one rule that reads
them. All that it finds are guesses: weights may be cached, and a path may be a local one.
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name

from kernelkit import image
from kernelkit.notebook.code import shell
from kernelkit.notebook.code.records import NOT_LITERAL, Call, Command
from kernelkit.push.checks.code import installs
from kernelkit.push.checks.code.locations import at, several
from kernelkit.push.checks.findings import POSSIBLE, PROBABLE, Finding, guess
from kernelkit.push.known.session_images import modules_seen
from kernelkit.push.planned.assumed import ATTACHES
from kernelkit.push.planned.plan import Plan

NOT_GIVEN = object()
SHOWN = 60  # characters of a command


@dataclass(frozen=True)
class Doubt:
    """One entry of `doubts.toml`, which says what its fields mean."""

    says: str
    calls: Sequence[str] = ()
    commands: Sequence[str] = ()
    when: str = ""
    argument: Sequence[str | int] = ()
    values: Sequence[str] = ()
    others: Sequence[str] = ()
    default: bool = False
    unless: Sequence[str] = ()
    settled: Sequence[str] = ()
    demanded: bool = False
    attached: bool = False
    packages: Sequence[str] = ()

    def matters(self, plan: Plan) -> bool:
        """Whether it is about such a session."""
        if self.when == "offline":
            return not plan.metadata.online
        if self.when == "without gpu":
            return plan.kind != "gpu"
        return self.when in ("", plan.kind)

    def is_about(self, call: Call, plan: Plan) -> bool:
        """Whether it is about a call; of one that is guarded the code has thought."""
        is_meant = call.demanded if self.demanded else not call.guarded
        if not is_meant or not _matches(call.name, self.calls):
            return False
        if any(_is_given(call, each) for each in self.unless):
            return False
        if self.attached:
            return _is_missing(call, plan)
        if not self.argument:
            return True
        value = _value(call, self.argument)
        if value is NOT_GIVEN:
            return self.default
        if value is NOT_LITERAL:
            return False
        text = str(value)
        return _matches(text, self.values) and not _matches(text, self.others)

    def is_about_command(self, command: Command, plan: Plan) -> bool:
        """Whether it is about a command."""
        text = shell.plain(command.words)
        if not _matches(text, self.commands) or _matches(text, self.others):
            return False
        if not text.startswith("pip install "):
            return True
        install = installs.of_command(command)
        if self.packages:
            return not install.changed.isdisjoint(self.packages)
        return bool(install.changed) or not _are_there(install.packages, plan)


class _Told(NamedTuple):
    """A call or a command, in words, and whether it runs whenever its cell does."""

    place: str
    text: str
    runs: bool


@cache
def doubts() -> tuple[Doubt, ...]:
    """The entries of `doubts.toml`."""
    text = Path(__file__).with_name("doubts.toml").read_text("utf-8")
    return tuple(Doubt(**entry) for entry in tomllib.loads(text)["doubt"])


def needs_internet(plan: Plan) -> bool:
    """Whether code calls or starts what an offline session cannot answer, as far as it says."""
    offline = [doubt for doubt in doubts() if doubt.when == "offline"]
    return not plan.metadata.online and any(_found(plan, offline))


def calls(plan: Plan) -> Iterator[Finding]:
    """Calls and commands that this session may not be able to answer, a line for each sentence."""
    yield from _found(plan, [doubt for doubt in doubts() if doubt.matters(plan)])


def _found(plan: Plan, chosen: Iterable[Doubt]) -> Iterator[Finding]:
    """What these entries have to say of a plan's code."""
    every = [found for program in plan.bundle.programs for found in program.calls]
    settled = {call.name for _, call in every if not call.demanded}
    for _, reading in plan.bundle.readings:
        settled.update(variable.name for variable in reading.environment)
    commands = list(_commands(plan))
    told: dict[str, list[_Told]] = {}  # by what is said of it
    for doubt in chosen:
        if not settled.isdisjoint(doubt.settled):
            continue
        found = told.setdefault(doubt.says, [])
        for place, call in every:
            if doubt.is_about(call, plan):
                found.append(_Told(at(place, call.line), call.name, not call.in_function))
        for place, command in commands:
            if doubt.is_about_command(command, plan):
                found.append(_Told(place, f"`{shell.plain(command.words)[:SHOWN]}`", True))
    for says, found in told.items():
        if not found:
            continue
        first, *others = dict.fromkeys(each.text for each in found)
        if others:
            first += f" (and {len(others)} more)"
        where = several(each.place for each in found)
        runs = any(each.runs for each in found)
        yield guess(f"{where}: {first} {says}", PROBABLE if runs else POSSIBLE)


def _commands(plan: Plan) -> Iterator[tuple[str, Command]]:
    """The commands that run whenever their cell does, each with its place."""
    for place, reading in plan.bundle.readings:
        for command in reading.commands:
            if not command.guarded:
                yield at(place, command.line), command


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _value(call: Call, names: Sequence[str | int]) -> Any:
    """The first of these arguments that a call has, by position or keyword, or `NOT_GIVEN`."""
    for name in names:
        if isinstance(name, str):
            if name in call.keywords:
                return call.keywords[name]
        elif name < len(call.arguments):
            return call.arguments[name]
    return NOT_GIVEN


def _is_given(call: Call, wanted: str) -> bool:
    """Whether a call has the keyword "name", or "name=value"."""
    name, equals, value = wanted.partition("=")
    if name not in call.keywords:
        return False
    return not equals or str(call.keywords[name]) == value


def _is_missing(call: Call, plan: Plan) -> bool:
    """Whether a call's first argument names a source that is not attached."""
    kind = ATTACHES.get(call.name)
    handle = call.argument(0, "handle")
    if kind is None or not isinstance(handle, str):
        return False
    wanted = handle.lower().split("/")[:2]
    return all(source.lower().split("/")[:2] != wanted for source in plan.metadata.sources[kind])


def _are_there(packages: Set[str], plan: Plan) -> bool:
    """Whether the image has all of these packages."""
    seen = modules_seen(plan.project.runs, plan.kind)
    if seen is None:
        return packages <= image.distributions(plan.kind)
    return packages <= {canonicalize_name(image.distribution(each) or each) for each in seen}
