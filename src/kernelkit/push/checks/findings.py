"""The results of checks, and how they are told: facts one by one, all guesses under one heading."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.terminal.events import ERROR, WARNING, Event, Events
from kernelkit.tpu.figures import TPU

MACHINE = Event("machine")  # what a push gets
ATTACHED = Event("attached")  # what a push attaches by itself
WARNINGS = Event("warnings", quiet=True, colour="yellow")  # the heading above guesses, for people
GUESS = Event("warning", quiet=True, listed=True)
EVENTS = {"attached": ATTACHED, "error": ERROR, "warning": WARNING, "machine": MACHINE, "tpu": TPU}

# Checks that nobody can ignore: Kaggle refuses what they refuse, or it should never be sent.
FINAL = ("size", "secrets")

# How useful a guess is, which is the order in which a kernel's are told.
PROBABLE = 1  # the run fails, or uses hours of a machine for nothing, unless the code does more
POSSIBLE = 2  # it fails where something is not there that may be there
MINOR = 3  # what the author may want to know


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    An `error` is certain, by what Kaggle answers, what its image has or what Python does, and
    stops the push. A `guess` is not certain, and is told with the others of its kernel, those of
    the lowest `rank` first. The other levels are facts that stop nothing.

    `check` is the check's name, for --ignore; `kind` the error that an error ends a command with;
    `facts` are for programs.
    """

    level: Literal["attached", "error", "guess", "warning", "machine", "tpu"]
    text: str
    rank: int = 0
    check: str = ""
    kind: type[KernelkitError] = PreflightError
    facts: Mapping[str, Any] = field(default_factory=dict)


def error(text: str, kind: type[KernelkitError] = PreflightError) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text, kind=kind)


def warning(text: str) -> Finding:
    """A fact that does not stop the push."""
    return Finding("warning", text)


def guess(text: str, rank: int = POSSIBLE) -> Finding:
    """What may be wrong: `rank` is `PROBABLE`, `POSSIBLE` or `MINOR`."""
    return Finding("guess", text, rank=rank)


def show(events: Events, findings: Iterable[Finding]) -> None:
    """Tell findings: facts as they come, then all guesses together; errors end the push.

    Raises what `stop_on_errors` raises.
    """
    found = list(findings)
    for finding in found:
        if finding.level not in ("error", "guess"):
            events(EVENTS[finding.level], finding.text, **finding.facts)
    tell_guesses(events, [finding for finding in found if finding.level == "guess"])
    stop_on_errors(found)


def stop_on_errors(findings: Iterable[Finding]) -> None:
    """Raise one `PreflightError` for all errors of that kind, or else the first of the others.

    The others pass with time, and what the push has wrong does not.
    """
    errors = [finding for finding in findings if finding.level == "error"]
    if not errors:
        return
    wrong = [finding for finding in errors if finding.kind is PreflightError]
    if not wrong:
        raise errors[0].kind(errors[0].text)
    problems = "1 problem" if len(wrong) == 1 else f"{len(wrong)} problems"
    lines = [f"the preflight found {problems}:"]
    lines += [f"  - {finding.text}" for finding in wrong]
    names = sorted({finding.check for finding in wrong}.difference(FINAL, [""]))
    if names:
        options = " ".join(f"--ignore {name}" for name in names)
        lines.append(f"To push anyway: {options}, an option of push, check and rehearse")
    raise PreflightError("\n".join(lines))


def tell_guesses(events: Events, guesses: Sequence[Finding], **facts: Any) -> None:
    """Print the guesses about a kernel under one heading, a line each, the most useful first."""
    if not guesses:
        return
    number = "1 guess" if len(guesses) == 1 else f"{len(guesses)} guesses, the most useful first"
    if not events.as_json:
        events(WARNINGS, f"{number}:")
    for each in sorted(guesses, key=lambda finding: finding.rank):
        events(GUESS, each.text, check=each.check, rank=each.rank, **facts)


def conclusion(events: Events) -> str:
    """How a check without errors ends, by the warnings that the command has told."""
    count = events.told[WARNING]
    if not count:
        return "nothing to correct before a push"
    return "no error, 1 warning" if count == 1 else f"no error, {count} warnings"
