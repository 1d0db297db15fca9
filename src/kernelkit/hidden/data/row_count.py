"""How many rows a hidden test set gets."""

from kernelkit.errors import ParameterError

MORE = 4  # times the rows of the public set
FEWEST = 200  # rows, if there are enough
SHARE = 5  # one training row in so many becomes hidden, at most
USUAL = (
    f"by default it has {MORE} times the rows of the public set, at least {FEWEST}, and at most a "
    "fifth of those to train on; --make-rows gives another number"
)


def usual_rows(public: int, training: int) -> int:
    """The number of ids to hide by default, for a public set and training data with so many."""
    return max(1, min(max(MORE * public, FEWEST), training // SHARE))


def too_few(name: str, training: int, wanted: int) -> ParameterError:
    """The error of a training set that cannot spare so many rows."""
    return ParameterError(
        f"{name} has {training:,} rows with an answer: too few to hide {wanted:,} of them and to "
        "train on the others. --make-rows gives another number"
    )
