"""`kernelkit init`."""

import functools
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from kernelkit.cli.definition import command
from kernelkit.cli.options import FILE
from kernelkit.errors import ParameterError
from kernelkit.files import from_here
from kernelkit.terminal.events import NEXT, WARNING, Event, Events


def _ask_for_dataset(events: Events, slug: str) -> str:
    """The dataset "owner/slug" that the user names for an input, or "" for a competition.

    Where nobody can be asked, it is taken for a competition, which is told.
    """
    if events.as_json or not sys.stdin.isatty():
        events(
            WARNING,
            f"{slug} is taken for a competition: move a dataset to dataset_sources as "
            f"OWNER/{slug}, a model to model_sources",
        )
        return ""
    answer = click.prompt(
        f"The notebook reads /kaggle/input/{slug}. Press Enter if it is a competition; if it is a "
        f"dataset, type OWNER/{slug}",
        default="",
        show_default=False,
    )
    return str(answer)


@command("leaves --competition leaf-classification", ".")
@click.argument("folder", metavar="NAME", type=FILE, required=False)
@click.option(
    "--competition", metavar="SLUG", help="Read this competition's files and write a submission."
)
@click.option("--from", "source", metavar="OWNER/SLUG", help="Start from a notebook on Kaggle.")
@click.option(
    "--skill",
    is_flag=True,
    help="Only write SKILL.md, which tells coding assistants how to use these commands.",
)
def init(
    folder: Path | None, competition: str | None, source: str | None, skill: bool, **output: Any
) -> None:
    """Create a repository in a new folder NAME, or write the settings of a notebook that has none.

    Where NAME is a notebook, or a folder with one, this writes its kernel-metadata.json from what
    the notebook says, and nothing else. The notebook of --from is not run; settings that would move
    a TPU run to another image are removed. With --skill, NAME is an existing folder, by default the
    current one.
    """
    from kernelkit.start.describe import describe, holds_a_notebook, next_command
    from kernelkit.start.new_repository import how_to_rehearse, init, write_skill

    made = Event("init")
    events = Events(**output)
    if skill:
        if competition or source:
            raise ParameterError("--skill writes one file: leave out --competition and --from")
        path = write_skill(folder or Path())
        events(made, str(path), files=[str(path)])
        return
    if folder is None:
        raise ParameterError(
            "name the new folder: kernelkit init NAME, or the folder of your notebook: kernelkit "
            "init ."
        )
    if not competition and not source and holds_a_notebook(folder):
        described = describe(folder, functools.partial(_ask_for_dataset, events))
        place = described.metadata.path
        events(made, f"{from_here(place)}: {described.words}", files=[str(place)])
        events(NEXT, next_command(folder, described.metadata))
        return
    written = [str(path) for path in init(folder, competition, source)]
    events(made, "\n".join(written), folder=str(folder), files=written)
    if source:
        events(NEXT, how_to_rehearse(folder))
        return
    is_here = folder.resolve() == Path.cwd()
    there = "" if is_here else f"cd {shlex.quote(str(folder))} && "
    events(NEXT, f"{there}kernelkit rehearse")
