"""Run a notebook into a run folder, and report on it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from kernelkit.cli import reports_errors
from kernelkit.commands import options


@click.command("run", help=__doc__)
@click.argument("notebook", type=options.FILE)
@options.parameters
@click.option("--name", default="", help="The run's name: its folder is runs/NAME.")
@options.output
@options.report
@click.option("--hosts", type=int, help="Run as so many hosts, all of them on this machine.")
@options.as_json
@options.quiet
@reports_errors
def command(
    notebook: Path,
    parameters: tuple[str, ...],
    name: str,
    output: Path | None,
    report: bool,
    hosts: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from kernelkit.runs.run_notebook import run_notebook
    from kernelkit.runs.several_hosts import run_on_hosts

    run_it = run_notebook if hosts is None else partial(run_on_hosts, hosts)
    run = run_it(notebook, parameters, name=name, output=output, report=report,
                 quiet=quiet or as_json)  # fmt: skip
    if as_json:
        event = {"event": "run", "folder": str(run.folder), "seconds": round(run.seconds, 2),
                 "metrics": dict(run.metrics)}  # fmt: skip
        click.echo(json.dumps(event, default=str))
    else:
        click.echo(run.summary)
