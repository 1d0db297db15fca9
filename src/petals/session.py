"""How long there is: the run's own limit, and the session's, which Kaggle ends without a word."""

from __future__ import annotations

import os
import time

from petals import inputs

MINUTES = "KERNELKIT_SESSION_MINUTES"  # what a bundle says of the session it was pushed for
BEGAN = "PETALS_SESSION_BEGAN"  # set by the first to ask, for the processes of a sweep
HOURS = {"tpu": 9.0, "gpu": 12.0, "cpu": 12.0}  # Kaggle's caps, 2026-11
RESERVE = 15.0  # minutes: the session's start, the last scores, the files' way home
RESERVE_SHARE = 0.2  # of a short session


def deadline(time_limit: float, kind: str) -> float | None:
    """The `time.monotonic()` at which training has to stop, None for never.

    `time_limit`: minutes from now, 0 = none; `kind` of the accelerator: its cap on Kaggle holds
    where no bundle names the session's length. A clock that is set meanwhile changes nothing.
    """
    ends = [time.monotonic() + 60 * time_limit] if time_limit else []
    minutes = float(os.environ.get(MINUTES, 0)) or (inputs.on_kaggle() and 60 * HOURS[kind])
    if minutes:
        began = float(os.environ.setdefault(BEGAN, str(time.monotonic())))
        ends.append(began + 60 * (minutes - min(RESERVE, RESERVE_SHARE * minutes)))
    return min(ends, default=None)
