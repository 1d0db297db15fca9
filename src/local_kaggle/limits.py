"""Kaggle's machines and limits, and what a rehearsal allows; each value can be changed."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Literal

Kind = Literal["tpu", "gpu", "cpu"]
HOUR = 3600.0

# The API's names of machines, as of November 2026; any other name means a CPU.
SHAPES: Mapping[Kind, tuple[str, ...]] = {
    "tpu": ("TpuV5E8", "TpuV6E8"),
    "gpu": (
        "NvidiaTeslaT4",
        "NvidiaTeslaA100",
        "NvidiaL4",
        "NvidiaL4X1",
        "NvidiaH100",
        "NvidiaRtxPro6000",
    ),
    "cpu": ("",),
}
"""By kind; `enable_tpu` and `enable_gpu` request the first of their kind."""

FREE_BYTES = 500_000_000  # of this machine's disks: with less, a session ends before the disk does
FREE_FILES = 10_000  # likewise, where a file system has a greatest number of files

RETIRED = {
    "NvidiaTeslaP100": "NvidiaTeslaT4",
    "TpuV38": "TpuV5E8",
    "Tpu1VmV38": "TpuV5E8",
    "TpuV232": "",
    "TpuV2256": "",
}
"""The machine that Kaggle silently substitutes for a retired shape."""


@dataclass(frozen=True)
class ServerLimits:
    """Caps, sizes and delays; times in seconds.

    sessions          concurrent batch sessions (including queued ones), per accelerator
    session_seconds   the longest session, per accelerator; a longer run is killed
    memory_bytes      memory of all processes of a session, per accelerator; beyond it the run is
                      killed
    working_bytes     size of all files in /kaggle/working, likewise
    log_bytes         size of a session's log, likewise; Kaggle's own limit is not known
    dataset_bytes     size of an uploaded file, and of all that the archives of a dataset's or
                      model's version unpack to; Kaggle's own limit is not known
    weekly_seconds    accelerator time per week (which starts on Saturday, 00:00 UTC)
    page_size         entries per page if the request names no number
    max_page_size     the most entries per page, whatever the request names
    link_seconds      how long a signed link is valid
    queue_seconds     from a push to the start of its session
    lag_seconds       how long a new session stays invisible to requests without a version, which
                      get the previous version
    dataset_seconds   from the creation of a dataset version until it is `ready`
    score_seconds     from a submission to its score
    latency_seconds   delay of every response that contains a file
    submissions_a_day submissions per competition and day; on Kaggle usually 5 or fewer
    rules_pending     competitions whose rules nobody has accepted, and models (owner/model) whose
                      license nobody has accepted: their files and submissions are refused (403),
                      and a push continues without them
    also_named        another name of the user, under which the user's sources are mounted: that
                      of the account on Kaggle for which the rehearsal is made
    """

    sessions: Mapping[Kind, int] = field(default_factory=lambda: {"tpu": 1, "gpu": 2, "cpu": 5})
    session_seconds: Mapping[Kind, float] = field(
        default_factory=lambda: {"tpu": 9 * HOUR, "gpu": 12 * HOUR, "cpu": 12 * HOUR}
    )
    memory_bytes: Mapping[Kind, float] = field(
        default_factory=lambda: {"tpu": 405e9, "gpu": 30e9, "cpu": 30e9}
    )
    working_bytes: float = 20e9
    log_bytes: float = 1e9
    dataset_bytes: float = 100e9
    weekly_seconds: Mapping[Kind, float] = field(
        default_factory=lambda: {"tpu": 20 * HOUR, "gpu": 30 * HOUR}
    )
    page_size: int = 20
    max_page_size: int = 200
    link_seconds: float = 900.0
    queue_seconds: float = 0.0
    lag_seconds: float = 2.0
    dataset_seconds: float = 1.0
    score_seconds: float = 0.5
    latency_seconds: float = 0.0
    submissions_a_day: int = 100
    rules_pending: Collection[str] = ()
    also_named: str = ""

    def __post_init__(self) -> None:
        """Accelerators that a mapping leaves out keep Kaggle's values."""
        for item in fields(self):
            if item.default_factory is not MISSING:
                machines = {**item.default_factory(), **getattr(self, item.name)}
                object.__setattr__(self, item.name, machines)
