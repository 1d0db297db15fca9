#!/usr/bin/env python
"""Run a sweep: many runs of one notebook, one table, nothing lost."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.cli import reports_errors


@click.command(
    epilog="Exit codes: 0 complete, 2 usage or parameters, 6 some runs failed (the others are "
    "done), 12 cannot write, 130 interrupted; with --kaggle also those of push_kernel.py."
)
@click.argument("file", metavar="SWEEP.yaml", type=click.Path(path_type=Path))
@click.option(
    "-p", "parameters", metavar="NAME=VALUE", multiple=True, help="Replace a base value or an axis."
)
@click.option("--workers", type=int, default=0, metavar="N", help="Runs at a time.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Default runs/NAME.")
@click.option("--dry-run", is_flag=True, help="Show the runs and how they stand; run nothing.")
@click.option("--retry-failed", is_flag=True, help="Run again what failed or took too long.")
@click.option("--force", is_flag=True, help="Run everything again.")
@click.option("--yes", is_flag=True, help="A grid past 1,000 runs is meant.")
@click.option("--report/--no-report", default=True, help="A report.html a run (the default).")
@click.option("--time-limit", type=float, metavar="MINUTES", help="The longest a run may take.")
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option("--kaggle", is_flag=True, help="Run in one Kaggle session, and bring all home.")
@click.option("--local", is_flag=True, help="With --kaggle: rehearse it at the desk.")
@click.option("--metadata", type=click.Path(path_type=Path), help="Another kernel-metadata.json.")
@click.option("--accelerator", metavar="KIND", help="tpu, gpu, cpu, or a machine shape.")
@click.option("--timeout", type=float, metavar="MINUTES", help="The longest a session may take.")
@reports_errors
def main(file: Path, **options: object) -> None:
    """Run a sweep: many runs of one notebook, one table, nothing lost.

    The same command goes on where it was stopped. The results are in runs/NAME: index.html,
    results.csv, results.json, and a folder for each run.
    """
    from kernelkit.sweep.command import sweep

    sweep(file, **options)


if __name__ == "__main__":
    main()
