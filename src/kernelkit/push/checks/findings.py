"""The results of checks, and how they are told: facts one by one, all guesses under one heading."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.terminal.events import ERROR, WARNING, Event, Events
from kernelkit.tpu.figures import TPU

MACHINE = Event("machine")  # what a push gets
ATTACHED = Event("attached")  # what a push attaches by itself
GUESSES = Event("warnings", quiet=True, colour="yellow")  # the heading above guesses, for people
GUESS = Event("warning", quiet=True, listed=True)  # which programs read as a warning
# How a finding of each level but "guess" is told.
EVENTS = {"attached": ATTACHED, "error": ERROR, "warning": WARNING, "machine": MACHINE, "tpu": TPU}

# Checks that nobody can ignore: Kaggle refuses what they refuse, or it should never be sent.
FINAL = ("submission", "sources", "size", "secrets")

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

    `check` is the check's name, for --ignore; `kind` the exception that an error raises; `facts`
    are for programs.
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
    """Tell findings that are no errors; errors end the push.

    Raises what `stop_on_errors` raises.
    """
    found = list(findings)
    tell(events, [finding for finding in found if finding.level != "error"])
    stop_on_errors(found)


def tell(events: Events, findings: Iterable[Finding], **facts: Any) -> None:
    """Tell findings: facts one by one, as they come, then all guesses under one heading.

    `facts`: what programs get with each of them.
    """
    guesses = []
    for finding in findings:
        if finding.level == "guess":
            guesses.append(finding)
        else:
            about = {"check": finding.check, **finding.facts, **facts}
            events(EVENTS[finding.level], finding.text, **about)
    if not guesses:
        return
    number = "1 guess" if len(guesses) == 1 else f"{len(guesses)} guesses, the most useful first"
    if not events.as_json:
        events(GUESSES, f"{number}:")
    for each in sorted(guesses, key=lambda finding: finding.rank):
        events(GUESS, each.text, check=each.check, rank=each.rank, **facts)


def stop_on_errors(findings: Iterable[Finding]) -> None:
    """Raise one `PreflightError` for all mistakes in the push, or else the first other error.

    Busy kernels and used-up quota pass with time; mistakes in the push do not.
    """
    errors = [finding for finding in findings if finding.level == "error"]
    mistakes = [finding for finding in errors if finding.kind is PreflightError]
    if mistakes:
        raise PreflightError(_listed(mistakes))
    if errors:
        raise errors[0].kind(errors[0].text)


def _listed(mistakes: Sequence[Finding]) -> str:
    """All mistakes, a line each, and the way past those that may be ignored."""
    number = "1 problem" if len(mistakes) == 1 else f"{len(mistakes)} problems"
    lines = [f"the preflight found {number}:"]
    lines += [f"  - {finding.text}" for finding in mistakes]
    checks = {finding.check for finding in mistakes if finding.check}
    names = sorted(checks.difference(FINAL))
    if names:
        options = " ".join(f"--ignore {name}" for name in names)
        lines.append(f"To push anyway: {options}, an option of push, check and rehearse")
    return "\n".join(lines)


def conclusion(events: Events) -> str:
    """How a check without errors ends, by the warnings that the command has told."""
    count = events.told[WARNING]
    if not count:
        return "nothing to correct before a push"
    return "no error, 1 warning" if count == 1 else f"no error, {count} warnings"
