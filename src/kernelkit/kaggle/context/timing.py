"""The time limits of commands that talk to Kaggle. Tests shorten them; users leave them alone."""

from dataclasses import dataclass, field

from kernelkit.kaggle.retries import REAL, Clock, Retries
from kernelkit.kaggle.transport.time_limits import Timeouts


@dataclass(frozen=True)
class PollPolicy:
    """How often to look and how long to wait, in seconds.

    Kaggle does not publish its rate limit; public reports show that 15 s is accepted. `slow_poll`
    takes the place of `poll` after the seconds of `quick_for`. While Kaggle fails to answer, the
    pause doubles up to `longest`, or to the value of `Retry-After`. `queue` limits the wait for the
    session to start (hours, for a TPU), `margin` how long a session may exceed its time limit,
    `silence` how long Kaggle may not answer at all, and `unproved` how long the answers about a
    finished session may lack the number of its push.
    """

    poll: float = 15.0
    slow_poll: float = 60.0
    quick_for: float = 900.0
    longest: float = 300.0
    queue: float = 6 * 3600.0
    margin: float = 900.0
    silence: float = 1800.0
    unproved: float = 300.0
    confirmations: int = 3  # polls before the lack of a log or a status is final


@dataclass(frozen=True)
class Timing:
    """The clock and all time limits; the defaults are for Kaggle itself."""

    clock: Clock = REAL
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    settle: tuple[float, ...] = (5.0, 15.0, 30.0)  # pauses before each look for a lost push
    patience: PollPolicy = field(default_factory=PollPolicy)
    fetch_seconds: float = 2 * 3600.0  # 20 GB, the largest output of a run, at 3 MB/s
    score_seconds: float = 1800.0  # from submitting a file to its score
    rerun_seconds: float = 15 * 3600.0  # from submitting a notebook, which runs again


KAGGLE = Timing()

# A rehearsal has no rate limit, and takes minutes, not hours.
REHEARSAL = Timing(
    retries=Retries(first=0.5, longest=5.0, patience=60.0),
    settle=(1.0, 2.0, 4.0),
    patience=PollPolicy(
        poll=1.0, slow_poll=2.0, queue=600.0, margin=60.0, silence=120.0, unproved=20.0
    ),
)
