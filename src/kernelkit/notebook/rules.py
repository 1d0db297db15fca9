"""A project's own rules for its notebooks' parameters, checked before anything is sent or run.

`check = "soil_moisture.settings:check"` in `[tool.kernelkit]` names a function that gets three
arguments: the notebook's name without its extension, all its parameters by name, and the attached
sources, as {"dataset": ["owner/slug"], "competition": [], "kernel": [], "model": []} or None for a
local run. It returns the problems, each a line that says what to change, or raises an exception
with such a text. Its module must import quickly. It runs in a child process with the project's
Python, once for all runs of a sweep.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.notebook.parameters import for_json
from kernelkit.project import PATH, Project

SECONDS = 20.0
LAST_WORDS = 300  # characters of a failed child's output to show
CHILD = """\
import importlib, json, os, sys
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # keep the project's own output out of the answers
request = json.load(sys.stdin)
module, _, name = request["check"].partition(":")
check = getattr(importlib.import_module(module), name)
problems = []
for values in request["runs"]:
    try:
        lines = check(request["notebook"], values, request["sources"])
        problems.append([str(line) for line in lines or ()])
    except Exception as error:
        problems.append([str(error) or type(error).__name__])
json.dump(problems, answers)
answers.close()
"""


def problems(
    project: Project,
    notebook: Path,
    runs: Sequence[Mapping[str, Any]],
    sources: Mapping[str, Sequence[str]] | None = None,
) -> list[list[str]]:
    """The violations of the project's rules by each run's parameters; empty without rules.

    `runs`: all parameters of each run, including defaults; `sources`: the sources attached on
    Kaggle, None for local runs. Raises `NotebookError` if the rules cannot be run.
    """
    if not project.check or not runs:
        return [[] for _ in runs]
    request = {
        "check": project.check,
        "notebook": notebook.stem,
        "runs": [for_json(values) for values in runs],
        "sources": sources,
    }
    own = project.root / ".venv" / "bin" / "python"
    paths = [*map(str, project.import_paths()), *filter(None, [os.environ.get(PATH)])]
    try:
        process = subprocess.run(
            [str(own) if own.is_file() else sys.executable, "-c", CHILD],
            input=json.dumps(request, default=str),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=project.root,
            env={**os.environ, PATH: os.pathsep.join(paths)},
            check=True,
        )
        answers: list[list[str]] = json.loads(process.stdout)
        return answers
    except subprocess.TimeoutExpired:
        why = f"it took more than {SECONDS:.0f} s"
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip()[-LAST_WORDS:].rpartition("\n")[2]
    except (OSError, ValueError) as error:
        why = str(error)
    raise NotebookError(
        f"check = {project.check!r} in [tool.kernelkit] could not check the parameters: {why}"
    )
