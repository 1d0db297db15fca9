"""What a run measured, as typed values: its `metrics.json`, or else the score that it printed.

Any notebook may write that file, so nothing in it is taken for granted: a value of another type
than declared here is as if it were missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.errors import AcceleratorMismatchError
from kernelkit.runs.run_folder import METRICS
from kernelkit.scores import printed_score
from kernelkit.session_records import proved
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text

OUT_OF_TIME = "time limit"  # the value of `stopped` of an unfinished run
IN_A_LINE = 4  # measures in a summary line
LEVEL = 0.95  # of an interval that does not say its own


@dataclass(frozen=True)
class Device:
    """What a run ran on: its kind, such as "tpu", its name, and how many replicas it had.

    rehearsal        whether something else stood in for it
    peak_bytes       the most memory that a chip had in use
    compile_seconds  how long the compiler took, after `trace_seconds` of tracing
    """

    kind: str = ""
    name: str = ""
    replicas: int = 1
    rehearsal: bool = False
    peak_bytes: float = 0.0
    compile_seconds: float = 0.0
    trace_seconds: float = 0.0

    def __str__(self) -> str:
        """Such as `TPU v5e × 8 (rehearsal)`; "" if it is not known."""
        text = self.name or self.kind
        if self.replicas > 1:
            text += f" × {self.replicas}"
        return f"{text} (rehearsal)" if self.rehearsal else text


@dataclass(frozen=True)
class Data:
    """What a run trained on: a name or the path of its source, and the rows to validate on."""

    name: str = ""
    source: str = ""
    val: int | None = None

    def __str__(self) -> str:
        """Such as `leaves (520 val)`; "" if it is not known."""
        text = self.name or Path(self.source).name
        return text if self.val is None else f"{text} ({self.val:,} val)"


@dataclass(frozen=True)
class RunCommit:
    """The commit of a run's code; `dirty`: whether there were changes beside it."""

    sha: str = ""
    dirty: bool = False


@dataclass(frozen=True)
class Metrics:
    """What a run wrote about itself; without values if it wrote nothing.

    values      all of it, as it stands in the file
    source      the name of that file in the run's output: metrics.json, or where the score was
                printed; "" without values
    is_damaged  whether there is a metrics.json that cannot be read
    parameters  the values of its parameters
    intervals   {measure: [low, high]}, and their `level`
    chance      {measure: what guessing would score}
    warnings    lines for whoever reads its score
    stopped     why it ended early
    ended       when it ended, in ISO 8601

    step_seconds  the seconds of a training step, its input included; 0 if the run does not say
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    is_damaged: bool = False
    device: Device = field(default_factory=Device)
    data: Data = field(default_factory=Data)
    git: RunCommit = field(default_factory=RunCommit)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    intervals: Mapping[str, Any] = field(default_factory=dict)
    chance: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[Any] = ()
    stopped: str = ""
    ended: str = ""
    step_seconds: float = 0.0

    @classmethod
    def of_run(cls, folder: Path, score: str = "") -> Metrics:
        """Those of the run in a folder.

        score  the name of a measure: of a run without a `metrics.json`, what it printed after that
               name is its only value

        NaN, Infinity and numbers too large for a float are read as None; a name with characters
        that no terminal or page shows has their escapes.
        """
        if score and not (folder / METRICS).is_file():
            printed = printed_score.find(folder, score)
            return cls() if printed is None else cls.of({score: printed.value}, printed.source)
        try:
            values = files.parse_json(
                (folder / METRICS).read_text("utf-8"),
                parse_constant=lambda _: None,
                parse_float=_finite,
                parse_int=_finite,
                object_pairs_hook=_with_printable_names,
            )
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError):
            return cls(is_damaged=True)
        return cls.of(values) if isinstance(values, dict) else cls(is_damaged=True)

    @classmethod
    def of(cls, values: Mapping[str, Any], source: str = METRICS) -> Metrics:
        """Those of the object in a `metrics.json`."""
        own = {"values": values, "source": source, "is_damaged": False}
        return typed.read_what_fits(cls, {**values, **own})

    def doubt(self, folder: Path) -> str:
        """Why they are not verified, in words; "" if they are, or are none; `folder`: the run's.

        They are as verified as the file in which they stand.
        """
        return proved.doubt(folder, self.source) if self.source else ""

    @property
    def numbers(self) -> dict[str, float]:
        """Its plain numbers by name, in the file's order."""
        return typed.numbers(self.values)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the run stopped at its time limit, and can be continued."""
        return self.stopped == OUT_OF_TIME

    @property
    def level(self) -> float:
        """The share of resamples in the intervals, from 0 to 1."""
        return typed.numbers(self.intervals).get("level", LEVEL)

    def table(self, name: str) -> Mapping[str, Any]:
        """A table with all that the run wrote into it; empty if it has none."""
        table = self.values.get(name)
        return table if isinstance(table, Mapping) else {}

    def interval(self, name: str) -> tuple[float, float] | None:
        """[low, high] of a measure; None if the run wrote none."""
        match self.intervals.get(name):
            case [int() | float() as low, int() | float() as high] if low <= high:
                return float(low), float(high)
        return None

    def end(self, written: float) -> float:
        """When the run ended, in seconds since 1970; `written` where it does not say."""
        try:
            return datetime.fromisoformat(self.ended).timestamp()
        except ValueError:
            return written

    def summary(self, shown: Shown) -> str:
        """The first measures in one line, with the device."""
        parts = []
        for name, (label, text) in list(shown.texts(self.numbers).items())[:IN_A_LINE]:
            parts.append(text if name == "seconds" else f"{label} {text}")
        device = str(self.device)
        if device:
            parts.append(f"on {device}")
        return ", ".join(parts)

    def check_accelerator(self, requested: str, *, rehearsal: bool) -> None:
        """Raise `AcceleratorMismatchError` unless the run had the requested kind of machine.

        A stand-in that declares itself a rehearsal counts only in a rehearsal. A run that names no
        kind is not checked.
        """
        kind = self.device.kind
        stand_in = " (a stand-in)" if self.device.rehearsal and not rehearsal else ""
        if kind and (kind.lower() != requested or stand_in):
            raise AcceleratorMismatchError(
                f"the run should have had a {requested.upper()} and had {kind.upper()}{stand_in}: "
                "its figures do not count. Check the quota and the phone verification on Kaggle, "
                "then push again"
            )


def _with_printable_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {safe_text.one_line(name): value for name, value in pairs}


def _finite(digits: str) -> float | None:
    if not math.isfinite(float(digits)):
        return None
    return int(digits) if digits.lstrip("-").isdigit() else float(digits)
