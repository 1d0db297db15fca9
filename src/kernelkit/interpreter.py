"""How a project's own code is run: by its Python, with its modules."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

PATH = "PYTHONPATH"


def python_of(root: Path) -> str:
    """The Python that runs a project's own code: that of its `.venv`, or else this one."""
    own = root / ".venv" / "bin" / "python"
    return str(own) if own.is_file() else sys.executable


def with_python(words: Sequence[str], root: Path) -> list[str]:
    """The words of a command of the settings, with the project's Python for a leading `python`."""
    if words[:1] in (["python"], ["python3"]):
        return [python_of(root), *words[1:]]
    return [*words]


@contextlib.contextmanager
def imports_from(folders: Iterable[Path]) -> Iterator[None]:
    """During a block, processes started here can import modules from these folders, first."""
    before = os.environ.get(PATH)
    given = before.split(os.pathsep) if before else []
    paths = [*folders, *(Path(path).absolute() for path in given)]  # they may work elsewhere
    os.environ[PATH] = os.pathsep.join(map(str, paths))
    try:
        yield
    finally:
        del os.environ[PATH]
        if before is not None:
            os.environ[PATH] = before
