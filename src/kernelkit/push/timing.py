"""How patient a push is: everything that a test shortens and a user leaves alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelkit.kaggle_api.clock import REAL, Clock
from kernelkit.kaggle_api.connection import Timeouts
from kernelkit.kaggle_api.retries import Retries
from kernelkit.push.save import SavingPolicy
from kernelkit.push.wait import PollPolicy


@dataclass(frozen=True)
class Timing:
    """The clock and every limit in time; the defaults are for Kaggle itself."""

    clock: Clock = REAL
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    saving: SavingPolicy = field(default_factory=SavingPolicy)
    patience: PollPolicy = field(default_factory=PollPolicy)
    fetch_seconds: float = 2 * 3600.0  # 20 GB, the most that a run may leave, at 3 MB/s
    score_seconds: float = 1800.0  # from a submission to its score


KAGGLE = Timing()

# A rehearsal throttles nobody and runs minutes, not hours.
REHEARSAL = Timing(
    retries=Retries(first=0.5, longest=5.0, patience=60.0),
    saving=SavingPolicy(settle=(1.0, 2.0, 4.0)),
    patience=PollPolicy(poll=1.0, slow_poll=2.0, queue=600.0, margin=60.0, silence=120.0),
)
