"""The profile of a push: which rooms call which, until its kernel is saved."""

import inspect
import json
import os
import subprocess
import sys
import tempfile
import types
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAVES = "save_kernel"  # the method of Kaggle's calls that starts a session
PACKAGE = "kernelkit"
OWNER = "somebody"
SCRIPT = "from pathlib import Path\n\nPath('made.txt').write_text('made')\n"
READS = "print(open('/kaggle/input/datasets/somebody/birds/birds.csv').read())\n"
CELLS = [
    ("import helper", ()),
    ("epochs = 1  # at least 1", ("parameters",)),
    (
        "data = open('/kaggle/input/competitions/garden/test.csv').read()\n"
        "open('submission.csv', 'w').write(helper.answer(data, epochs))",
        (),
    ),
]
HELPER = "def answer(data, epochs):\n    return data * epochs\n"

Wishes = dict[str, Any]  # parameters by their names


@dataclass
class Found:
    """The modules that a push entered, and its calls from one room to another, by pair."""

    modules: set[str] = field(default_factory=set)
    functions: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def pairs(self) -> Counter[str]:
        """The number of calls from the one room of a pair to the other."""
        return Counter({pair: calls.total() for pair, calls in self.functions.items()})

    @property
    def crossings(self) -> int:
        """The number of all calls from one room to another."""
        return self.pairs.total()


def trace(checkout: Path, case: str) -> Found:
    """Rehearse the push of a case by a checkout's kit, in a process of its own, and count it.

    `case` is one of `CASES`.
    """
    paths = [checkout / "src", checkout / "tests", Path(__file__).parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "found.json")
        repository = Path(folder, "repository")
        repository.mkdir()
        (repository / "pyproject.toml").write_text("[tool.kernelkit]\n")
        wishes = CASES[case](repository)
        command = [sys.executable, "-m", "tracing.push_trace", str(answer), json.dumps(wishes)]
        subprocess.run(command, cwd=repository, env=environment, check=True)
        found = json.loads(answer.read_text("utf-8"))
    functions = {pair: Counter(calls) for pair, calls in found["functions"].items()}
    return Found(set(found["modules"]), functions)


def _write_script(folder: Path) -> Wishes:
    (folder / "first.py").write_text(SCRIPT)
    _write_settings(folder, "first.py")
    return {}


def _write_reading_script(folder: Path) -> Wishes:
    (folder / "first.py").write_text(SCRIPT + READS)
    _write_settings(folder, "first.py", dataset_sources=[f"{OWNER}/birds"])
    _write_input(folder / "input" / "datasets" / OWNER / "birds" / "birds.csv")
    return {}


def _write_notebook(folder: Path) -> Wishes:
    cells = []
    for number, (source, tags) in enumerate(CELLS):
        cell = {"cell_type": "code", "id": f"cell{number}", "source": source, "outputs": []}
        cells.append(cell | {"metadata": {"tags": list(tags)}, "execution_count": None})
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "first.ipynb").write_text(json.dumps(notebook))
    (folder / "helper.py").write_text(HELPER)
    _write_settings(folder, "first.ipynb", competition_sources=["garden"])
    _write_input(folder / "input" / "competitions" / "garden" / "test.csv")
    return {"epochs": 2}


CASES: dict[str, Callable[[Path], Wishes]] = {
    "a script": _write_script,
    "a script with a dataset": _write_reading_script,
    "a notebook with parameters, a module and a competition": _write_notebook,
}
"""What is pushed, and what writes its project into a folder and returns its parameters."""


def _write_settings(folder: Path, code_file: str, **sources: Any) -> None:
    settings: dict[str, Any] = {
        "id": f"{OWNER}/first",
        "title": "first",
        "code_file": code_file,
        "language": "python",
        "kernel_type": "script" if code_file.endswith(".py") else "notebook",
        "is_private": True,
        "enable_internet": False,
    }
    (folder / "kernel-metadata.json").write_text(json.dumps(settings | sources))


def _write_input(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("id\n1\n")


class Profile:
    """A profiler of the thread that pushes; `found` grows until the kernel is saved.

    A call counts as a crossing if the function and the nearest function of the kit that led to it
    are in two rooms. What a module does while it is imported does not count, nor does what Python
    writes itself, such as the `__init__` of a dataclass.
    """

    def __init__(self, rooms: set[str]) -> None:
        self.found = Found()
        self._rooms = rooms
        self._begun: dict[int, types.FrameType] = {}  # generators, which are entered many times

    def __call__(self, frame: types.FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        room = self._room(frame)
        if not room:
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            if id(frame) in self._begun:
                return
            self._begun[id(frame)] = frame
        caller = self._caller(frame)
        if caller is None:
            return
        module = frame.f_globals["__name__"]
        self.found.modules.add(module)
        above = self._room(caller)
        if room != above:
            pair = f"{_short(above)} {_short(room)}"
            self.found.functions[pair][f"{_short(module)}.{frame.f_code.co_qualname}"] += 1
        if frame.f_code.co_name == SAVES:
            sys.setprofile(None)

    def _caller(self, frame: types.FrameType) -> types.FrameType | None:
        """The nearest function of the kit above one; None while a module is imported."""
        above = frame.f_back
        while above is not None and not self._room(above):
            if above.f_code.co_name == "<module>" and above.f_globals["__name__"] != "__main__":
                return None
            above = above.f_back
        if above is None or above.f_code.co_name == "<module>":
            return None
        return above

    def _room(self, frame: types.FrameType) -> str:
        """The room of a function: the longest name that leads to its module; "" of no other."""
        name = str(frame.f_globals.get("__name__", ""))
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.endswith(".py")
        if not is_function or not name.startswith(f"{PACKAGE}."):
            return ""
        while name not in self._rooms:
            name = name.rpartition(".")[0]
        return name


def _short(name: str) -> str:
    return name.removeprefix(f"{PACKAGE}.")


def main(answer: Path, wishes: Wishes) -> None:
    """Push the current folder's kernel to the stand-in, and write down what was found."""
    from rooms import ROOMS

    from kernelkit.push.push_kernel import push_kernel

    profile = Profile(set(ROOMS))
    sys.setprofile(profile)
    try:
        with Path(os.devnull).open("w") as nowhere:
            push_kernel(Path(), wishes, local=True, stream=nowhere)
    finally:
        sys.setprofile(None)
    found = {"modules": sorted(profile.found.modules), "functions": profile.found.functions}
    answer.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
