"""The results of checks, and how they are told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.terminal.events import ERROR, WARNING, Event, Events
from kernelkit.tpu.figures import TPU

MACHINE = Event("machine")  # what a push gets
ATTACHED = Event("attached")  # what a push attaches by itself
EVENTS = {"attached": ATTACHED, "error": ERROR, "warning": WARNING, "machine": MACHINE, "tpu": TPU}


@dataclass(frozen=True)
class Finding:
    """The result of one check: an `error` stops the push, any other level is printed.

    `check` is the check's name, for --ignore; `kind` the error that an error ends a command with;
    `facts` are for programs.
    """

    level: Literal["attached", "error", "warning", "machine", "tpu"]
    text: str
    check: str = ""
    kind: type[KernelkitError] = PreflightError
    facts: Mapping[str, Any] = field(default_factory=dict)


def error(text: str, kind: type[KernelkitError] = PreflightError) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text, kind=kind)


def warning(text: str) -> Finding:
    """A finding that is printed."""
    return Finding("warning", text)


def tell(events: Events, findings: Iterable[Finding]) -> None:
    """Print findings as they come, and raise the first error among them as what it is."""
    for finding in findings:
        if finding.level == "error":
            raise finding.kind(finding.text)
        events(EVENTS[finding.level], finding.text, **finding.facts)
