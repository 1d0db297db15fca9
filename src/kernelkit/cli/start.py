"""Commands to start with: create a repository, check the account, serve a local Kaggle."""

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from kernelkit import project
from kernelkit.cli import options
from kernelkit.errors import NO_LOCAL_KAGGLE, ParameterError


@options.command("init", ("leaves --competition leaf-classification", "leaves --from anna/leaves"))
@click.argument("folder", metavar="NAME", type=options.FILE)
@click.option(
    "--competition", metavar="SLUG", help="Read this competition's files and write a submission."
)
@click.option("--from", "source", metavar="OWNER/SLUG", help="Start from a notebook on Kaggle.")
def init(folder: Path, competition: str | None, source: str | None, **output: Any) -> None:
    """Create a repository that can rehearse and push, in a new folder NAME.

    The notebook of --from is not run. Settings that would move a TPU run to another image are
    removed.
    """
    from kernelkit.start.new_repository import init
    from kernelkit.terminal.events import Events

    events = Events(**output)
    written = [str(path) for path in init(folder, competition, source)]
    events("init", "\n".join(written), folder=str(folder), files=written)
    events("next", f"cd {shlex.quote(str(folder))} && kernelkit rehearse")


@options.command(
    "local",
    ("", "--port 8800 --faults 7"),
    context_settings={"ignore_unknown_options": True},
)
@click.argument("others", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION]...")
def local(others: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Serve a local stand-in for Kaggle with this project's inputs.

    Prints how to point the official client at it. Every OPTION is one of `python -m local_kaggle`,
    for example --port, --faults SEED, --account and --token; see its --help. The --root is
    runs/local_kaggle of the project. If its catalogue is empty, the project's command fills it.
    """
    if importlib.util.find_spec("local_kaggle") is None:
        raise ParameterError(NO_LOCAL_KAGGLE)
    own = project.find_project(Path.cwd())
    inputs = own.local_kaggle / "catalogue"
    words = [f"--root={own.local_kaggle}"]
    empty = not (inputs.is_dir() and any(inputs.iterdir()))
    by_itself = re.findall(r"\{(\w+)\}", own.catalogue) == ["catalogue"]  # without a push
    if empty and by_itself and not any(w.startswith(("--root", "--cat", "--fill")) for w in others):
        os.chdir(own.root)
        words.append(f"--fill={own.catalogue}")
    words += [*others, *["--json"] * as_json, *["--quiet"] * quiet]
    # Our own arguments, and no shell.
    os.execv(sys.executable, [sys.executable, "-m", "local_kaggle", *words])  # noqa: S606


@options.command("doctor", ("", "--run --tpu"), local=True)
@click.option("--run", is_flag=True, help="Also save two private kernels and run one on a CPU.")
@click.option("--tpu", is_flag=True, help="Also run one on a TPU (ten minutes of quota at most).")
@click.option(
    "--submit",
    metavar="MESSAGE",
    help="Do what --run does, and submit the sample submission to the code competition.",
)
def doctor(**values: Any) -> None:
    """Check your account, and compare Kaggle with what the kit assumes about it.

    The result is a table: as assumed, different, or not tested. Without options, the command makes
    only a few requests; it says beforehand what it costs and which private kernels it leaves
    behind.
    """
    from kernelkit.start.examination import examine

    examine(**values)
