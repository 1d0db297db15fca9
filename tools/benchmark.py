"""Measure the kit against the alternatives: a table, then one line of JSON for each benchmark.

NAME is pipeline, ingest, recipes, fetch, runtimes, steps, kernelkit, checks, page, intervals
or tpu. Without a name, all but tpu run, which takes hours.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import inspect
import json
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code
from petals.quiet import without_notes

NAMES = (
    "pipeline",
    "ingest",
    "recipes",
    "fetch",
    "runtimes",
    "steps",
    "kernelkit",
    "checks",
    "page",
    "intervals",
    "tpu",
)
ON_REQUEST = "tpu"  # takes hours
WITHOUT_TENSORFLOW = ("fetch", "kernelkit", "checks", "page", "intervals", "tpu")


@click.command(help=__doc__, context_settings=HELP)
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option(
    "--photos",
    type=click.Path(exists=True, path_type=Path),
    help="A folder with a folder for each class; without it only benchmarks that need none run.",
)
@click.option(
    "--weights",
    type=click.Path(exists=True, path_type=Path),
    help="ImageNet weights of MobileNet-0.75 without the top.",
)
@click.option(
    "--python",
    type=click.Path(exists=True, path_type=Path),
    default=sys.executable,
    help="For kernelkit: the Python for which its wheel is installed; by default this one.",
)
@exits_with_code
def main(names: tuple[str, ...], photos: Path | None, weights: Path | None, python: Path) -> None:
    given = {"photos": photos, "weights": weights, "python": python}
    click.echo(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    for name in names or [name for name in NAMES if name != ON_REQUEST]:
        run = import_module(f"benchmarks.{name}").run
        needed = [need for need in inspect.signature(run).parameters if need in given]
        if missing := [need for need in needed if given[need] is None]:
            click.echo(f"{name}: not run, it needs --{' and --'.join(missing)}")
            continue
        click.echo(f"{name}: being measured")
        if name not in WITHOUT_TENSORFLOW:
            with without_notes():
                import_module("tensorflow")
        result = run(**{need: given[need] for need in needed})
        for key, value in result.items():
            click.echo(f"  {name:10} {key:24} {value}")
        click.echo(json.dumps({"benchmark": name, **result}))


if __name__ == "__main__":
    main()
