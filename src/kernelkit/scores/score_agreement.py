"""Whether the public scores of runs follow their validation scores.

The rank correlation is Spearman's (1904): of the ranks of the validation scores and of the public
ones, equal values sharing their mean rank.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST_COMPARED = 5  # runs, from which on validation and public scores are compared

Pair = tuple[float, float]  # the validation score and the public score of a run


@dataclass(frozen=True)
class ScoreAgreement:
    """How the scores of some runs of one competition agree.

    correlation    Spearman's rank correlation; None for fewer runs than `FEWEST_COMPARED`, and if
                   all values of one side are equal
    contradicting  of each run, whether its public score contradicts its validation score: of the
                   other runs, more are ordered by public scores in the opposite way than in the
                   same one. None does where there are fewer than `FEWEST_COMPARED`
    """

    correlation: float | None
    contradicting: tuple[bool, ...]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "ScoreAgreement":
        """The agreement of runs with these scores, in their order."""
        if len(pairs) < FEWEST_COMPARED:
            return cls(None, tuple(False for _ in pairs))
        marks = tuple(_contradicts(pair, pairs) for pair in pairs)
        return cls(_rank_correlation(pairs), marks)

    def in_words(self, competition: str, runs: str) -> str:
        """A sentence without its full stop, about so many `runs` ("5 pushes"); "" if unknown."""
        if self.correlation is None:
            return ""
        words = (
            f"{competition}: rank correlation of validation and public score "
            f"{self.correlation:.2f} over {runs}"
        )
        if self.correlation <= 0:
            words += (
                ", so that public scores contradict the validation: look at how it is split, or "
                "whether only one of the two is better the smaller it is"
            )
        return words


def _contradicts(pair: Pair, pairs: Sequence[Pair]) -> bool:
    validation, public = pair
    orders = [(validation - other) * (public - its) for other, its in pairs]
    opposite = sum(order < 0 for order in orders)
    same = sum(order > 0 for order in orders)
    return opposite > same


def _rank_correlation(pairs: Sequence[Pair]) -> float | None:
    first = _ranks([validation for validation, _ in pairs])
    second = _ranks([public for _, public in pairs])
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    return statistics.correlation(first, second)


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1, equal ones sharing their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
