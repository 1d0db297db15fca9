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

Their module must import quickly. They run in a child process with the project's Python, once for
all runs of a sweep.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import interpreter
from kernelkit.errors import NotebookError
from kernelkit.notebook.interface.values import for_json
from kernelkit.project import Project

SECONDS = 20.0
KINDS = ("dataset", "competition", "kernel", "model")
LAST_WORDS = 300  # characters of a failed child's output to show
# Writes for each call the pair of what the function returned and what it raised.
CHILD = """\
import importlib, json, os, sys
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # keep the project's own output out of the answers
request = json.load(sys.stdin)
module, _, name = request["function"].partition(":")
function = getattr(importlib.import_module(module), name)
pairs = []
for arguments in request["calls"]:
    try:
        answer = function(*arguments)
        if not isinstance(answer, (dict, str)):
            answer = [str(line) for line in answer or ()]
        pairs.append([answer, ""])
    except Exception as error:
        pairs.append([None, str(error) or type(error).__name__])
json.dump(pairs, answers)
answers.close()
"""


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
    for answer, raised in _asked(project, "check", project.check, calls):
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
    for answer, raised in _asked(project, "sources", project.sources, calls):
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


def _asked(
    project: Project, key: str, function: str, calls: Sequence[Any]
) -> list[tuple[Any, str]]:
    """What a function of the project returns for each call, and what it raises, or "".

    It returns lines, a text or a dictionary.
    """
    request = {"function": function, "calls": calls}
    paths = [str(path) for path in project.import_paths()]
    inherited = os.environ.get(interpreter.PATH)
    if inherited:
        paths.append(inherited)
    try:
        process = subprocess.run(
            [interpreter.python_of(project.root), "-c", CHILD],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=project.root,
            env={**os.environ, interpreter.PATH: os.pathsep.join(paths)},
            check=True,
        )
        return [(answer, raised) for answer, raised in json.loads(process.stdout)]
    except subprocess.TimeoutExpired:
        why = f"it took more than {SECONDS:.0f} s"
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip()[-LAST_WORDS:].rpartition("\n")[2]
    except (OSError, ValueError) as error:
        why = str(error)
    raise NotebookError(f"{key} = {function!r} in [tool.kernelkit] cannot be called: {why}")
