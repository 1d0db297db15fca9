"""One word, one thing: no class has a namesake, and the kit has no words of flowers."""

import ast
import re
from collections import defaultdict

import pytest
from checkouts import ROOT

FLOWERS = ("petal", "flower", "backbone", "macro_f1", "tpu-getting-started")


def id_of(path):
    return path.relative_to(ROOT).as_posix()


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
