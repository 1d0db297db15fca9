"""One word, one thing: names that are gone stay gone, and no class has a namesake."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RETIRED = {
    line.split()[0]
    for line in (ROOT / "tests/retired_names.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
SOURCES = [*ROOT.glob("src/**/*.py"), *ROOT.glob("tools/**/*.py")]
FLOWERS = ("petal", "flower", "backbone", "macro_f1", "tpu-getting-started")


def borne(source: str) -> set[str]:
    """The names of classes, functions, parameters and constants of a module."""
    tree, found = ast.parse(source), set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def id_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_retired_name_comes_back():
    found = {id_of(path): (borne(path.read_text()) | {path.stem}) & RETIRED for path in SOURCES}
    assert len(found) > 200
    assert {path: names for path, names in found.items() if names} == {}


def test_a_retired_name_would_be_caught():
    assert borne("class Desk:\n    def venue(self, pace): ...") & RETIRED == {
        "Desk",
        "venue",
        "pace",
    }


@pytest.mark.parametrize("package", ["petals", "kernelkit"])
def test_no_class_has_a_namesake(package):
    classes = defaultdict(list)
    for path in ROOT.glob(f"src/{package}/**/*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(id_of(path))
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}


def test_kernelkit_knows_nothing_of_flowers():
    words = re.compile(rf"(?<![a-z])({'|'.join(FLOWERS)})")
    paths = [path for path in ROOT.glob("src/kernelkit/**/*.*") if path.is_file()]
    found = {
        id_of(path): words.findall(path.read_text().lower())
        for path in paths
        if path.suffix != ".pyc"
    }
    assert len(found) > 100
    assert {path: words for path, words in found.items() if words} == {}
