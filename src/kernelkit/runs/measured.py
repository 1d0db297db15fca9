"""What a run measured and what is to be known of its score, as every page and comparison has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelkit.runs import proved, run_folder


@dataclass(frozen=True)
class Measured:
    """The numbers of a run, and what they are worth.

    metrics     its plain numbers by name
    interval    the ends of the score's interval, () if the run wrote none
    level       the share of resamples in that interval, from 0 to 1
    chance      what guessing would score; None if that is not known
    data        what the score is measured on, in words
    content     what tells that from other data, see `run_folder.data_content`
    when        when the run ended, in seconds since 1970
    unverified  why the numbers are not proved to be the run's own; "" if they are
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, ...] = ()
    level: float = run_folder.LEVEL
    chance: float | None = None
    data: str = ""
    content: str = ""
    when: float = 0.0
    unverified: str = ""

    @classmethod
    def of(cls, folder: Path, metrics: run_folder.Metrics, score: str) -> Measured:
        """That of the run in a folder with these `metrics`; `score`: the measure to judge it by."""
        return cls(
            metrics=run_folder.numbers(metrics),
            interval=run_folder.interval(metrics, score) or (),
            level=run_folder.level(metrics),
            chance=run_folder.numbers(run_folder.part(metrics, "chance")).get(score),
            data=run_folder.data_name(metrics),
            content=run_folder.data_content(folder, metrics),
            when=run_folder.ended(metrics, run_folder.written(folder)),
            unverified=proved.doubt(folder, run_folder.METRICS),
        )
