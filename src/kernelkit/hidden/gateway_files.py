"""Which files a competition's gateway serves, as the text of its module says.

A host's gateway names them in `unpack_data_paths`, as /kaggle/input/SLUG/test.csv; each text in the
module that ends in the path of a public file counts.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

EVALUATION = "kaggle_evaluation"
CORE = "core"  # the folder of what all hosts' gateways share


def find_gateway(public: Path) -> Path | None:
    """The module of a competition's gateway among its public files; None if it has none."""
    folder = public / EVALUATION
    for pattern in ("*_gateway.py", "*/*_gateway.py"):
        for path in sorted(folder.glob(pattern)):
            if path.parent.name != CORE:
                return path
    return None


def served_files(public: Path, gateway: Path) -> list[str]:
    """The paths below the public folder that a gateway's module names, in its order."""
    found = []
    for text in _texts(gateway):
        parts = [part for part in text.replace("\\", "/").split("/") if part]
        for begin in range(len(parts)):
            name = "/".join(parts[begin:])
            if (public / name).exists() and ".." not in parts[begin:]:
                found.append(name)
                break
    return list(dict.fromkeys(found))


def _texts(module: Path) -> Iterator[str]:
    """The texts in a module that may be paths; none if it is no Python."""
    try:
        tree = ast.parse(module.read_text("utf-8", "replace"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if "." in node.value and "\n" not in node.value:
            yield node.value
