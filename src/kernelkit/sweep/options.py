"""The options of a sweep, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(frozen=True)
class SweepOptions:
    """How a sweep is to be run.

    workers       runs at a time; default the file's `workers`, then one for every two cores
    output        the sweep's folder; default the project's runs/FILE, on Kaggle
                  runs/kaggle-FILE, rehearsed runs/rehearsal-FILE
    dry_run       show the runs and how they stand, with `kaggle` the preflight of the push too,
                  and run nothing
    retry_failed  run again what failed or took too long
    force         run everything again
    yes           a grid past 1,000 runs is meant
    report        a report.html for every run
    time_limit    minutes a run may take, in place of the file's
    dask          the address of a Dask scheduler whose workers are to run them
    kaggle        in a Kaggle session, with the file's `kaggle:` block over the rest of it, on the
                  `metadata`'s machine or the `accelerator` given, for at most `timeout` minutes;
                  runs that differ in their parameter `accelerator` have a session each, one after
                  the other; `local` rehearses that at the desk
    stream        where progress is shown; default stdout
    """

    workers: int = 0
    output: Path | None = None
    dry_run: bool = False
    retry_failed: bool = False
    force: bool = False
    yes: bool = False
    report: bool = True
    time_limit: float | None = None
    dask: str | None = None
    kaggle: bool = False
    local: bool = False
    metadata: Path | None = None
    accelerator: str | None = None
    timeout: float | None = None
    stream: TextIO | None = None
