"""What a project's own functions say of a run's parameters, before anything is sent or run.

`check = "soil_moisture.settings:check"` in `[tool.kernelkit]` names a function that gets three
arguments: the notebook's name without its extension, all its parameters by name, and the attached
sources, as {"dataset": ["owner/slug"], "competition": [], "kernel": [], "model": []} or None for a
local run. It returns the problems, each a line that says what to change, or a text with one, or
raises an exception with such a text.

`sources = "soil_moisture.settings:sources"` names a function of the first two of these arguments.
It returns what the run reads that Kaggle has, in the same form as the attached sources; a push
attaches it. In place of a list it may give {"owner/slug": "what to know of it, as its licence"}. An
exception that it raises is an error of the command.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.notebook.interface.values import for_json
from kernelkit.notebook.project_rules.calling import answers_of
from kernelkit.project import Project

KINDS = ("dataset", "competition", "kernel", "model")


def problems(
    project: Project,
    notebook: Path,
    runs: Sequence[Mapping[str, Any]],
    attached: Mapping[str, Sequence[str]] | None = None,
) -> list[list[str]]:
    """The violations of the project's rules by each run's parameters; empty without rules.

    `runs`: all parameters of each run, including defaults; `attached`: the sources attached on
    Kaggle, None for local runs. Raises `NotebookError` if the rules cannot be run.
    """
    if not project.check or not runs:
        return [[] for _ in runs]
    calls = [(notebook.stem, for_json(values), attached) for values in runs]
    found = []
    for answer, raised in answers_of(project, "check", project.check, calls):
        if raised:
            found.append([raised])
        elif isinstance(answer, str):
            found.append([answer] if answer else [])
        else:
            found.append(list(answer))
    return found


def sources(
    project: Project, notebook: Path, runs: Sequence[Mapping[str, Any]]
) -> list[dict[str, dict[str, str]]]:
    """The sources that each of these runs reads, by kind, with what the project says of each.

    They are empty if the project names none.

    `runs`: all parameters of each run, including defaults. Raises `NotebookError` if the project's
    function cannot be run, raises an exception, or returns something else.
    """
    if not project.sources:
        return [{} for _ in runs]
    calls = [(notebook.stem, for_json(values)) for values in runs]
    wanted = []
    for answer, raised in answers_of(project, "sources", project.sources, calls):
        if raised:
            raise NotebookError(f"sources = {project.sources!r} in [tool.kernelkit]: {raised}")
        if not (answer == [] or _is_by_kind(answer)):
            raise NotebookError(
                f"sources = {project.sources!r} in [tool.kernelkit] must return a dictionary like "
                f'{{"model": ["owner/model/framework/variation/version"]}}, not {answer!r}'
            )
        own = {}
        for kind, names in dict(answer).items():
            own[kind] = names if isinstance(names, dict) else dict.fromkeys(names, "")
        wanted.append(own)
    return wanted


def _is_by_kind(answer: Any) -> bool:
    """Whether an answer is names, or names with a text each, by kinds of sources."""
    if not isinstance(answer, dict):
        return False
    return all(kind in KINDS and _are_names(names) for kind, names in answer.items())


def _are_names(names: Any) -> bool:
    if isinstance(names, dict):  # as JSON its keys are texts
        return all(isinstance(note, str) for note in names.values())
    return isinstance(names, list) and all(isinstance(name, str) for name in names)
