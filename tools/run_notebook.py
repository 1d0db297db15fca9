"""Run a notebook with parameters into a run folder, and report on it."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from functools import partial
from pathlib import Path

import click

from kernelkit.cli import reports_errors


@click.command()
@click.argument("notebook", type=click.Path(path_type=Path))
@click.option(
    "-p",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the notebook's parameters cell; may be repeated.",
)
@click.option("--name", default="", help="The run's name: its folder is runs/NAME.")
@click.option("--output", type=click.Path(path_type=Path), help="The run's folder itself.")
@click.option("--fresh", is_flag=True, help="Begin anew though the same run was cut off.")
@click.option("--report/--no-report", default=True, help="Write report.html (the default).")
@click.option("--hosts", type=int, help="Run as so many hosts, all of them on this machine.")
@reports_errors
def main(
    notebook: Path,
    parameters: tuple[str, ...],
    name: str,
    output: Path | None,
    fresh: bool,
    report: bool,
    hosts: int | None,
) -> None:
    """Run a notebook with parameters into a run folder, and report on it.

    Without --name or --output the folder is new and named by the time; but where a run of the
    same notebook with the same parameters was cut off, the command goes on in that run's folder.
    --fresh begins anew in a folder of its own. A folder whose run is over is never taken again.
    """
    from kernelkit.runs.run_notebook import run_notebook
    from kernelkit.runs.several_hosts import run_on_hosts

    run_it = run_notebook if hosts is None else partial(run_on_hosts, hosts)
    run = run_it(notebook, parameters, name=name, output=output, fresh=fresh, report=report)
    click.echo(run.summary)
    click.echo(run.what_next)


if __name__ == "__main__":
    main()
