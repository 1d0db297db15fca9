"""What is made for a hidden folder, whichever way it is made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.hidden.growth import Growth
from kernelkit.project import HiddenSettings

SEED = 0
SHARE = 5  # by default one training row in so many becomes hidden, at most
MORE = 4  # by default the hidden set has so many times the rows of the public one
FEWEST = 200  # rows that the hidden set has by default, if there are enough
MINUTES = 15.0  # that a hidden run should take by default, where the public one's time is known
FURTHEST = 10  # times the rows of the last hidden run, for which its time is believed
APART = 2  # times by which both sets should differ in length, to project time from one to the other
MAKE_IT_YOURSELF = (
    "make the hidden data with a command of the project, hidden = {command = "
    '"python -m package.module {public} {hidden} {answers} {rows}"} below [tool.kernelkit] in '
    "pyproject.toml, or write it into a folder and name that with --hidden FOLDER"
)


@dataclass(frozen=True)
class HiddenContent:
    """What a hidden test set has, and what somebody should know of how it was made.

    columns      of the answers: the id, then those to predict
    rows         the number of ids, each with an answer
    public_rows  the number of ids in the public test set
    notes        how it was made, and what was left as it is, each a line
    most         the number of ids that may become hidden by default; 0 if that is not known
    """

    columns: Sequence[str]
    rows: int
    public_rows: int
    notes: Sequence[str] = ()
    most: int = 0


@dataclass(frozen=True)
class RowsWanted:
    """How many ids to hide.

    count    what was asked for; None for a default
    in_time  the default that `rows_in_time` gives; None if the time of a public run is not known
    """

    count: int | None = None
    in_time: int | None = None

    def of(self, public: int, training: int) -> int:
        """The number of ids, for a public set and training data with so many."""
        if self.count:
            return self.count
        return min(self.in_time or max(MORE * public, FEWEST), most_rows(training))


def most_rows(training: int) -> int:
    """The number of ids that may become hidden by default, of so many in the training data."""
    return training // SHARE


@dataclass(frozen=True)
class RunTime:
    """How many `minutes` a kernel ran on the public data, and on the hidden data if it did.

    growth  in minutes, of both runs; None where no hidden run of another length is known
    """

    minutes: float
    growth: Growth | None = None

    @property
    def fixed(self) -> float:
        """The minutes that do not depend on the rows, as far as both runs tell."""
        return max(0.0, self.growth.at(0)) if self.growth and self.growth.grows else self.minutes


def rows_in_time(public: int, time: RunTime) -> int:
    """The number of hidden rows by default, for a kernel with `public` rows and this time.

    A hidden run of so many takes `MINUTES`. Where the time of one run alone is known, it is as if
    all of it went into the rows: a run that spends most of it on training ends sooner. With a
    hidden run it is on the line through both, but at most `FURTHEST` times the rows of that. It is
    never fewer than `FEWEST`, and where it would be near the public number it is twice that, since
    time is projected on a line through both.
    """
    if time.growth is None:
        wanted = public * MINUTES / time.minutes
    else:
        wanted = float(FURTHEST * max(public, time.growth.hidden_rows))
        if time.growth.grows:
            wanted = min(wanted, (MINUTES - time.fixed) / time.growth.each)
    rows = max(FEWEST, round(wanted))
    if public / APART < rows < public * APART:
        return public * APART
    return rows


@dataclass(frozen=True)
class Unknown:
    """Something that is not certain: what it is in words, and the settings that would say it."""

    what: str
    settings: Mapping[str, Any]


def ask(unknown: Sequence[Unknown], settings: HiddenSettings) -> ParameterError:
    """The error that asks for everything that is not known, with the line to paste.

    The line holds the settings that are there already too, so that it can take their place.
    """
    line = f"hidden = {_inline(_completed(unknown, settings))}"
    if len(unknown) == 1:
        return ParameterError(
            f"{unknown[0].what}: say which it is, with {line} below [tool.kernelkit] in "
            "pyproject.toml"
        )
    listed = "\n".join(f"  {each.what}" for each in unknown)
    return ParameterError(
        f"{len(unknown)} things are to be said to make the hidden data:\n{listed}\n"
        f"Say which they are, with this line below [tool.kernelkit] in pyproject.toml:\n{line}"
    )


def _completed(unknown: Sequence[Unknown], settings: HiddenSettings) -> dict[str, Any]:
    """The settings to paste: those that are asked for, then those that are there already."""
    wanted: dict[str, Any] = {}
    columns = dict(settings.columns)
    for each in unknown:
        columns |= each.settings.get("columns", {})
        wanted |= each.settings
    there = {name: value for name, value in asdict(settings).items() if value}
    completed = wanted | {name: there[name] for name in there if name not in wanted}
    if columns:
        completed["columns"] = columns
    return completed


def _inline(value: Any) -> str:
    """A text, a list or a table of them as TOML writes it in one line."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    pairs = []
    for name, each in value.items():
        key = name if name.isidentifier() and name.isascii() else json.dumps(name)
        pairs.append(f"{key} = {_inline(each)}")
    return "{" + ", ".join(pairs) + "}"


def too_few(name: str, training: int, wanted: int) -> ParameterError:
    """The error of a training set that cannot spare so many rows."""
    if not wanted:
        return ParameterError(
            f"{name} has {training:,} rows with an answer: too few to hide some of them and train "
            "on the others"
        )
    return ParameterError(
        f"{name} has {training:,} rows: too few for {wanted:,} hidden ones and something to "
        "train on. Give fewer with --make-rows"
    )
