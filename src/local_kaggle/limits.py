"""What the rehearsal allows and how slow it is: Kaggle's figures, each of which can be moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kernelkit.machines import LIMITS as KAGGLE
from kernelkit.machines import Kind

HOUR = 3600.0
MEMORY: Mapping[Kind, float] = {"cpu": 30e9, "gpu": 30e9, "tpu": 405e9}


def _sessions() -> dict[Kind, int]:
    return {kind: limits.sessions for kind, limits in KAGGLE.items()}


def _session_seconds() -> dict[Kind, float]:
    return {kind: limits.hours_per_session * HOUR for kind, limits in KAGGLE.items()}


def _weekly_seconds() -> dict[Kind, float]:
    return {
        kind: limits.hours_per_week * HOUR
        for kind, limits in KAGGLE.items()
        if limits.hours_per_week is not None
    }


@dataclass(frozen=True)
class ServerLimits:
    """Caps, sizes and delays; times in seconds.

    sessions          batch sessions alive at once (queued ones counted), per accelerator
    session_seconds   the longest session, per accelerator; past it the run is killed
    memory_bytes      of all processes of a session, per accelerator; past it the run is killed
    working_bytes     of all files in /kaggle/working, likewise
    weekly_seconds    accelerator time a week (it starts on Saturday, 00:00 UTC)
    source_bytes      a notebook of this size or more is refused
    page_size         entries a page where the request names none
    max_page_size     entries a page at most, whatever the request names
    link_seconds      how long a signed link works
    queue_seconds     from a push to the start of its session
    lag_seconds       how long after its start a session stays unseen by a reader that names
                      no version and is told of the version before
    dataset_seconds   from the creation of a dataset version to `ready`
    score_seconds     from a submission to its score
    latency_seconds   added to every answer that carries a file
    submissions_a_day submissions per competition and day
    phone_verified    without it `enableInternet` is ignored in silence
    layout            `current`: competitions/<slug>, datasets/<owner>/<slug> and
                      notebooks/<owner>/<slug> below the input root; `legacy`: <slug> alone
    """

    sessions: Mapping[Kind, int] = field(default_factory=_sessions)
    session_seconds: Mapping[Kind, float] = field(default_factory=_session_seconds)
    memory_bytes: Mapping[Kind, float] = field(default_factory=lambda: dict(MEMORY))
    working_bytes: float = 20e9
    weekly_seconds: Mapping[Kind, float] = field(default_factory=_weekly_seconds)
    source_bytes: int = 1_000_000
    page_size: int = 20
    max_page_size: int = 200
    link_seconds: float = 900.0
    queue_seconds: float = 0.0
    lag_seconds: float = 2.0
    dataset_seconds: float = 1.0
    score_seconds: float = 0.5
    latency_seconds: float = 0.0
    submissions_a_day: int = 5
    phone_verified: bool = True
    layout: Literal["current", "legacy"] = "current"
