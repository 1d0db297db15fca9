"""The options of a sweep, as on the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from kernelkit.errors import ParameterError


@dataclass(frozen=True)
class SweepOptions:
    """How to run a sweep.

    workers       runs at a time; default the file's `workers`, then one for every two cores
    output        the sweep's folder; default the project's runs/FILE, on Kaggle
                  runs/kaggle-FILE, rehearsed runs/rehearsal-FILE
    dry_run       show the runs and their states, with `kaggle` also the preflight of the push, and
                  run nothing
    retry_failed  repeat the runs that failed or took too long
    force         run everything again
    yes           accept more than 1,000 runs
    report        a report.html for every run
    open          open the sweep's page, which follows the runs, in a browser
    time_limit    minutes that a run may take, instead of the file's
    dask          the address of a Dask scheduler whose workers run them
    kaggle        run in a Kaggle session, with the file's `kaggle:` block over the rest of it, on
                  the `metadata`'s machine or the given `accelerator`, for at most `timeout`
                  minutes; runs that differ in their parameter `accelerator` get separate
                  sessions, one after the other; `local` rehearses that on this machine
    stream        where progress is shown; default stdout
    """

    workers: int | None = None
    output: Path | None = None
    dry_run: bool = False
    retry_failed: bool = False
    force: bool = False
    yes: bool = False
    report: bool = True
    open: bool = False
    time_limit: float | None = None
    dask: str | None = None
    kaggle: bool = False
    local: bool = False
    metadata: Path | None = None
    accelerator: str | None = None
    timeout: float | None = None
    stream: TextIO | None = None

    @property
    def here(self) -> bool:
        """Whether the runs are made on this machine, with the packages that are installed here."""
        return not self.kaggle and not self.dask

    def check(self) -> None:
        """Raise `ParameterError` for options that exclude each other."""
        for name in ("local", "metadata", "accelerator", "timeout"):
            is_given = getattr(self, name) != getattr(SweepOptions, name)
            if is_given and not self.kaggle:
                raise ParameterError(f"--{name} is for a session: add --kaggle, or leave it out")
        if self.dask and self.kaggle:
            raise ParameterError("--dask and --kaggle exclude each other: choose one")
        if self.workers is not None and self.kaggle:
            raise ParameterError("a session does one run at a time: drop --workers")
        if self.workers is not None and self.dask:
            raise ParameterError(
                "as many run at a time as Dask's workers have threads: drop --workers"
            )
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"--workers {self.workers}: it takes 1 or more runs at a time")
