"""The check of what code calls and installs: what a session without internet cannot answer.

`doubts.toml` names calls and commands, each with a sentence; what is said of installs, and of the
sources that kagglehub loads, stands here.
All that is found are guesses: weights may be cached, and a path may be a local one.
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kernelkit.notebook.code.records import NOT_LITERAL, Call, Command
from kernelkit.notebook.language import shell
from kernelkit.push.assumed.named_sources import loaded_sources
from kernelkit.push.checks.findings import PROBABLE, Finding, guess
from kernelkit.push.checks.locations import where
from kernelkit.push.checks.modules import installs
from kernelkit.push.checks.modules.available import Available
from kernelkit.push.checks.modules.installs import Install
from kernelkit.push.planned.plan import Plan

SHOWN = 60  # characters of a command
ITSELF = ("*//localhost*", "*//127.*", "*//0.0.0.0*")  # servers of a session's own
PATHS = ("/*", ".*", "~*", "*{*")
OF_TPU_IMAGE = {"tensorflow", "keras", "jax", "jaxlib", "libtpu", "torch", "torch-xla", "numpy"}
DOWNLOADS = "needs the internet, which is off: attach what it downloads as a dataset or model"
FROM_INDEX = (
    'needs the internet, which is off: add "PACKAGE==VERSION" to wheels in [tool.kernelkit]'
)
OVER_TPU_IMAGE = (
    "replaces what the TPU image is built for, and the TPU may not be found: leave it out"
)


@dataclass(frozen=True)
class Doubt:
    """One entry of `doubts.toml`, which says what its fields mean."""

    says: str = DOWNLOADS
    calls: Sequence[str] = ()
    commands: Sequence[str] = ()
    offline: bool = False
    argument: Sequence[str | int] = ()
    values: Sequence[str] = ()
    unless: Sequence[str] = ()
    variables: Sequence[str] = ()

    def is_about(self, call: Call) -> bool:
        """Whether it is about a call; a guarded call is provided for."""
        if call.guarded or not _matches(call.name, self.calls):
            return False
        if any(_is_given(call, each) for each in self.unless):
            return False
        if not self.argument:
            return True
        value = _value(call, self.argument)
        return _matches(value, self.values) and not _matches(value, (*PATHS, *ITSELF))

    def is_about_command(self, command: str) -> bool:
        """Whether it is about a command."""
        return _matches(command, self.commands) and not _matches(command, ITSELF)


class _Doubted(NamedTuple):
    """A call or a command, in words, where it is, and what is said of it."""

    says: str
    place: str
    line: int
    text: str


@cache
def doubts() -> tuple[Doubt, ...]:
    """The entries of `doubts.toml`."""
    text = Path(__file__).with_name("doubts.toml").read_text("utf-8")
    return tuple(Doubt(**entry) for entry in tomllib.loads(text)["doubt"])


def needs_internet(plan: Plan) -> bool:
    """Whether code calls or starts what an offline session cannot answer, as far as it says."""
    if plan.metadata.online:
        return False
    entries = [doubt for doubt in doubts() if doubt.offline]
    return any(_of_entries(plan, entries)) or any(_offline(plan))


def calls(plan: Plan) -> Iterator[Finding]:
    """Calls and commands that this session may not be able to answer, a line for each sentence."""
    is_offline = not plan.metadata.online
    entries = [doubt for doubt in doubts() if is_offline or not doubt.offline]
    found = [*_of_entries(plan, entries), *_over_tpu_image(plan)]
    if is_offline:
        found += _offline(plan)
    told: dict[str, list[_Doubted]] = {}
    for each in found:
        told.setdefault(each.says, []).append(each)
    for says, doubted in told.items():
        first, *others = dict.fromkeys(each.text for each in doubted)
        if others:
            first += f" (and {len(others)} more)"
        places = where((each.place, each.line) for each in doubted)
        yield guess(f"{places}: {first} {says}", PROBABLE)


def _offline(plan: Plan) -> Iterator[_Doubted]:
    """What a session without internet cannot answer, besides what the entries name."""
    yield from _not_attached(plan)
    yield from _not_in_image(plan)


def _not_attached(plan: Plan) -> Iterator[_Doubted]:
    """Calls of kagglehub for sources that are not attached; a guarded one is provided for."""
    for place, call, source in loaded_sources(_calls(plan)):
        if not call.guarded and not _is_attached(source, plan):
            yield _Doubted(DOWNLOADS, place, call.line, call.name)


def _not_in_image(plan: Plan) -> Iterator[_Doubted]:
    """Installs of what the image does not have."""
    found = list(_pip_installs(plan))
    named = {package for _, _, install in found for package in install.packages}
    lacking = Available.of(plan).lacks(named) if named else set()
    for place, command, install in found:
        if install.has_url:
            yield _of_command(DOWNLOADS, place, command)
        elif not install.is_of_session and (install.changed or install.packages & lacking):
            yield _of_command(FROM_INDEX, place, command)


def _over_tpu_image(plan: Plan) -> Iterator[_Doubted]:
    """Installs on a TPU of other versions than the image's of what finds the TPU."""
    if plan.kind != "tpu":
        return
    for place, command, install in _pip_installs(plan):
        if not install.changed.isdisjoint(OF_TPU_IMAGE):
            yield _of_command(OVER_TPU_IMAGE, place, command)


def _of_entries(plan: Plan, entries: Iterable[Doubt]) -> Iterator[_Doubted]:
    """What these entries have to say."""
    every = _calls(plan)
    variables = {each.name for _, reading in plan.bundle.readings for each in reading.environment}
    commands = list(_commands(plan))
    for doubt in entries:
        if not variables.isdisjoint(doubt.variables):
            continue
        for place, call in every:
            if doubt.is_about(call):
                yield _Doubted(doubt.says, place, call.line, call.name)
        for place, command in commands:
            if doubt.is_about_command(_text(command)):
                yield _of_command(doubt.says, place, command)


def _calls(plan: Plan) -> list[tuple[str, Call]]:
    """The calls of the code, each with its place without the line."""
    return [each for program in plan.bundle.programs for each in program.calls]


def _commands(plan: Plan) -> Iterator[tuple[str, Command]]:
    """The commands that run whenever their cell does, each with its place."""
    for place, reading in plan.bundle.readings:
        for command in reading.commands:
            if not command.guarded:
                yield place, command


def _pip_installs(plan: Plan) -> Iterator[tuple[str, Command, Install]]:
    """The commands of pip that run whenever their cell does, each with what it installs."""
    for place, command in _commands(plan):
        if shell.plain(command.words)[:1] == ["pip"]:
            yield place, command, installs.of_command(command)


def _of_command(says: str, place: str, command: Command) -> _Doubted:
    return _Doubted(says, place, command.line, f"`{_text(command)[:SHOWN]}`")


def _text(command: Command) -> str:
    return " ".join(shell.plain(command.words))


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _value(call: Call, names: Sequence[str | int]) -> str:
    """The first of these arguments that a call has, by position or keyword, as a text.

    It is "" if the call has none of them, and "{}" if its value is not known.
    """
    given: dict[str | int, Any] = dict(enumerate(call.arguments))
    given.update(call.keywords.items())
    for name in names:
        if name in given:
            return "{}" if given[name] is NOT_LITERAL else str(given[name])
    return ""


def _is_given(call: Call, wanted: str) -> bool:
    """Whether a call has the keyword "name", or "name=value"."""
    name, equals, value = wanted.partition("=")
    if name not in call.keywords:
        return False
    return not equals or str(call.keywords[name]) == value


def _is_attached(source: tuple[str, str], plan: Plan) -> bool:
    """Whether a source, by its kind and name, is attached in some version."""
    kind, name = source
    wanted = name.lower().split("/")[:2]
    return any(own.lower().split("/")[:2] == wanted for own in plan.metadata.sources[kind])
