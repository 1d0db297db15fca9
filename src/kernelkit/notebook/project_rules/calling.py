"""Call a function of the project in a process of its own, with the project's Python.

The functions' module must import quickly: one process makes all calls of a command.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from kernelkit import interpreter
from kernelkit.errors import NotebookError
from kernelkit.project import Project

SECONDS = 20.0
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


def answers_of(
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
