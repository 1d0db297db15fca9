"""How much time a session has left.

Kaggle ends a session at its limit without warning, so `deadline` leaves a reserve.
"""

import math
import os
import time

from petals.kaggle import on_kaggle

MINUTES = "KERNELKIT_SESSION_MINUTES"  # the length of the session, set by a bundle
BEGAN = "KERNELKIT_SESSION_BEGAN"  # on the monotonic clock; set by a bundle or the first call
HOURS = {"tpu": 9.0, "gpu": 12.0, "cpu": 12.0}  # Kaggle's caps, 2026-11
RESERVE = 15.0  # minutes for the session's start, the last scores and the upload of its files
RESERVE_SHARE = 0.2  # of a short session


def deadline(time_limit: float, kind: str) -> float:
    """The `time.monotonic()` at which training has to stop, infinite for never.

    `time_limit`: minutes from now, 0 = none; `kind` of the accelerator: Kaggle's cap for it applies
    unless a bundle names the session's length. Setting the system's clock changes nothing.
    """
    ends = [time.monotonic() + 60 * time_limit] if time_limit else []
    minutes = float(os.environ.get(MINUTES, 0))
    if not minutes and on_kaggle():
        minutes = 60 * HOURS[kind]
    if minutes:
        began = float(os.environ.setdefault(BEGAN, str(time.monotonic())))
        ends.append(began + 60 * (minutes - min(RESERVE, RESERVE_SHARE * minutes)))
    return min(ends, default=math.inf)
