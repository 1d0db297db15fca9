"""What is made for a hidden folder, whichever way it is made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelkit.errors import ParameterError

SEED = 0
SHARE = 5  # by default one training row in so many becomes hidden, at most
MORE = 4  # by default the hidden set has so many times the rows of the public one
FEWEST = 200  # rows that the hidden set has by default, if there are enough
MAKE_IT_YOURSELF = (
    "make the hidden data with a command of the project, hidden = {command = "
    '"python -m package.module {public} {hidden} {answers} {rows}"} below [tool.kernelkit] in '
    "pyproject.toml, or write it into a folder and name that with --hidden FOLDER"
)


@dataclass(frozen=True)
class HiddenContent:
    """The answers of a hidden test set, and what somebody should know of how it was made.

    columns      the id, then those to predict
    answers      one row for each id
    public_rows  the number of ids in the public test set
    notes        what was guessed or left as it is, each a line
    """

    columns: Sequence[str]
    answers: Sequence[dict[str, Any]]
    public_rows: int
    notes: Sequence[str] = ()


def wanted_rows(count: int | None, public: int, training: int) -> int:
    """The number of ids to hide: `count`, or what the public set and the training data suggest."""
    return count or min(max(MORE * public, FEWEST), training // SHARE)


def ask(what: str, line: str) -> ParameterError:
    """An error that asks for a setting in one line."""
    return ParameterError(
        f"{what}: say which it is, with hidden = {{{line}}} below [tool.kernelkit] in "
        "pyproject.toml"
    )


def too_few(name: str, training: int, wanted: int) -> ParameterError:
    """The error of a training set that cannot spare so many rows."""
    return ParameterError(
        f"{name} has {training:,} rows: too few for {wanted:,} hidden ones and something to "
        "train on. Give fewer with --make-rows"
    )
