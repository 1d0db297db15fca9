"""Commands that run a notebook locally, or compile it for a TPU."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import options


@options.command("run", ("notebooks/train.ipynb -p epochs=2", "notebooks/train.ipynb --fresh"))
@click.argument("notebook", type=options.FILE)
@options.parameters
@click.option("--name", default="", help="The run's name; its folder is runs/NAME in the project.")
@options.output
@options.report
@click.option("--fresh", is_flag=True, help="Start a new run even if the same one was interrupted.")
@click.option("--hosts", type=int, help="Run as this many hosts, all on this machine.")
def run(
    notebook: Path,
    parameters: tuple[str, ...],
    hosts: int | None,
    report: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Run a notebook with parameters into a run folder, and report on it.

    Without --name or --output the folder is new and named after the notebook and the time. But
    if a run of the same notebook with the same parameters was interrupted, the command continues it
    in its folder; --fresh starts a new run instead. The folder of a finished run is never reused.
    """
    from kernelkit.pages.report_page import report_run
    from kernelkit.runs.run_notebook import run_notebook
    from kernelkit.sweep.workers.several_hosts import run_on_hosts
    from kernelkit.terminal.events import Events

    values["quiet"] = quiet or as_json
    if hosts is None:
        run = run_notebook(notebook, parameters, report=report_run if report else None, **values)
    else:
        run = run_on_hosts(hosts, notebook, parameters, report=report, **values)
    run.tell(Events(as_json=as_json, quiet=quiet))


@options.command("tpu", ("notebooks/train.ipynb", "notebooks/train.ipynb --largest-batch"))
@click.argument("notebook", type=options.FILE)
@options.parameters
@click.option(
    "--machine", default="v5e-8", show_default=True, help="The TPU: v5e-8, v6e-8 or v3-8."
)
@click.option(
    "--libtpu", metavar="VERSION", default="", help="Compile with this version of libtpu."
)
@click.option("--largest-batch", is_flag=True, help="Search for the largest batch that fits.")
def tpu(notebook: Path, parameters: tuple[str, ...], **values: Any) -> None:
    """Compile a run's programs for a TPU, without a TPU.

    Shows whether the run fits, what uses the memory, and how fast it can be at best. The compiler
    is the TPU's own, in an environment that is created on first use. A bound is what the chips'
    peaks allow, not a measurement. Checking the same run again takes a second.
    """
    from kernelkit.tpu.check import check_tpu

    check_tpu(notebook, parameters, **values)
