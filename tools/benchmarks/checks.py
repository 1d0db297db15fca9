"""What checking a repository of twenty kernels costs, against importing the libraries it uses."""

import ast
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KERNELS = 20
ROUNDS = 5
TIMEOUT = 600  # seconds for one command; an idle machine takes one
LIST = "import atexit, json, sys\natexit.register(lambda: print(json.dumps([*sys.modules])))\n"
CHECK = "import sys\nfrom kernelkit.cli.console import main\nsys.argv = {arguments}\nmain()"
IMPORT = """
import contextlib, importlib, json, sys
for name in json.loads(sys.argv[1]):
    with contextlib.suppress(ImportError):  # what another module makes while it is imported
        importlib.import_module(name)
"""


def run() -> dict[str, Any]:
    """Seconds of processor time, of all processes: medians of rounds that take turns.

    `check` checks twenty kernels that are made of this repository's largest source files, a cell
    for each class and function; `imports` imports the same modules in one process. `ratio` is
    theirs, and `kilobytes` the size of the code.
    """
    with tempfile.TemporaryDirectory(prefix="kernelkit-checks-") as scratch:
        repository = Path(scratch)
        size = _make_kernels(repository)
        check = CHECK.format(arguments=["kernelkit", "check", "--all", str(repository), "--quiet"])
        listed = subprocess.run(
            [sys.executable, "-c", LIST + check], capture_output=True, text=True, timeout=TIMEOUT
        )
        names = [name for name in json.loads(listed.stdout.splitlines()[-1]) if name != "__main__"]
        checks, imports = [], []
        for _ in range(ROUNDS):
            checks.append(_used([sys.executable, "-c", check]))
            imports.append(_used([sys.executable, "-c", IMPORT, json.dumps(names)]))
    figures = {"check": statistics.median(checks), "imports": statistics.median(imports)}
    figures["ratio"] = figures["check"] / figures["imports"]
    rounded = {key: round(value, 2) for key, value in figures.items()}
    return rounded | {"kilobytes": size // 1000, "modules": len(names)}


def _make_kernels(repository: Path) -> int:
    """Write the kernels into a git repository; returns the bytes of their code."""
    sources = sorted(ROOT.glob("src/*/**/*.py"), key=lambda path: path.stat().st_size)[-KERNELS:]
    for number, source in enumerate(sources):
        folder = repository / f"kernel-{number:02d}"
        folder.mkdir()
        cells = [
            {
                "cell_type": "code",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": s,
            }
            for s in _parts(source.read_text("utf-8"))
        ]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        (folder / "run.ipynb").write_text(json.dumps(notebook))
        metadata = {
            "id": f"somebody/kernel-{number:02d}",
            "title": f"Kernel {number:02d}",
            "code_file": "run.ipynb",
            "language": "python",
            "kernel_type": "notebook",
        }
        (folder / "kernel-metadata.json").write_text(json.dumps(metadata))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(repository)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "kernels"]):
        subprocess.run([*git, *words], check=True, timeout=TIMEOUT)
    return sum(source.stat().st_size for source in sources)


def _parts(source: str) -> list[str]:
    """A source, divided before each class and function."""
    lines = source.splitlines(keepends=True)
    statements = ast.parse(source).body
    kinds = (ast.ClassDef, ast.FunctionDef)
    starts = [0]
    for statement in statements:
        if isinstance(statement, kinds):
            first = min([statement.lineno, *(each.lineno for each in statement.decorator_list)])
            starts.append(first - 1)
    ends = [*starts[1:], len(lines)]
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _used(command: list[str]) -> float:
    """The seconds of processor time that a command and its processes use."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
