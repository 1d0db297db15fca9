"""How many rows a hidden test set gets, and what that number was chosen by."""

from dataclasses import dataclass

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.growth import Growth
from kernelkit.shown import duration

SHARE = 5  # by default one training row in so many becomes hidden, at most
MORE = 4  # by default the hidden set has so many times the rows of the public one
FEWEST = 200  # rows that the hidden set has by default, if there are enough
MINUTES = 15.0  # that a hidden run should take by default, where the public one's time is known
FURTHEST = 10  # times the rows of the last hidden run, for which its time is believed
APART = 2  # times by which both sets should differ in length, to project time from one to the other
USUAL = (
    "the number of rows is the usual one, since no rehearsal of this kernel with these parameters "
    "says how long it takes; --make-rows gives another"
)


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


def why_so_many(public: int, time: RunTime | None) -> str:
    """What the number of hidden rows was chosen by, in words."""
    if not time or not public:
        return USUAL
    return f"as many rows as {MINUTES:.0f} minutes allow, or as there are: {_told(public, time)}"


def _told(public: int, time: RunTime) -> str:
    """What is known of the time of earlier runs, in words."""
    growth = time.growth
    if growth is None:
        return (
            f"the kernel's last rehearsal took {duration(60 * time.minutes)} on {public:,} rows, "
            "all of which is taken to be for the rows"
        )
    return (
        f"its last hidden run took {duration(60 * growth.hidden)} on {growth.hidden_rows:,} "
        f"rows, after {duration(60 * growth.public)} on {growth.public_rows:,}, so that "
        f"{duration(60 * time.fixed)} are needed for any number"
    )


def other_length(rows: int, allowed: int, public: int, time: RunTime | None) -> list[str]:
    """A line if the time allows far more or fewer rows than there are; none otherwise."""
    if not time or rows / APART < allowed < rows * APART:
        return []
    return [
        f"{_told(public, time)}: {MINUTES:.0f} minutes allow {allowed:,} rows, --make-rows "
        f"{allowed}"
    ]


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
