"""What was written into a hidden folder, by tables or by a command."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class HiddenContent:
    """What a hidden test set has, and what somebody should know of how it was made.

    columns  of the answers: the id, then those to predict
    rows     the number of ids, each with an answer
    notes    how it was made, and what was left as it is, each a line
    """

    columns: Sequence[str]
    rows: int
    notes: Sequence[str] = ()
