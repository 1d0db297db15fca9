"""Measure the kit against the alternatives: a table, then one line of JSON for each benchmark."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import inspect
import json
import os
import platform
from importlib import import_module
from pathlib import Path

import click

from kernelkit.cli import reports_errors

NAMES = (
    "pipeline",
    "augment",
    "ingest",
    "head",
    "fine_tune",
    "sweep",
    "fetch",
    "compile",
    "runtimes",
)


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option(
    "--photos",
    type=click.Path(exists=True, path_type=Path),
    help="A folder of class folders; without it only what needs none is run.",
)
@click.option(
    "--weights",
    type=click.Path(exists=True, path_type=Path),
    help="ImageNet weights of MobileNet-0.75 without the top.",
)
@reports_errors
def main(names: tuple[str, ...], photos: Path | None, weights: Path | None) -> None:  # fmt: skip
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    given = {"photos": photos, "weights": weights}
    click.echo(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    for name in names or NAMES:
        run = import_module(f"benchmarks.{name}").run
        needed = [need for need in inspect.signature(run).parameters if need in given]
        if missing := [need for need in needed if given[need] is None]:
            click.echo(f"{name}: not run, it needs --{' and --'.join(missing)}")
            continue
        result = run(**{need: given[need] for need in needed})
        for key, value in result.items():
            click.echo(f"  {name:10} {key:24} {value}")
        click.echo(json.dumps({"benchmark": name, **result}))


if __name__ == "__main__":
    main()
