"""A bundle carries what the notebook's imports reach, and the data of the packages they reach."""

import pytest

from kernelkit.notebook.modules import File
from kernelkit.push.bundle.packages import reached

FILES = [
    File("kit/__init__.py", ""),
    File("kit/alone.py", "import os"),
    File("kit/data.json", "{}"),
    File("kit/texts/de.txt", "Rose"),
    File("kit/deep/__init__.py", "from kit.deep import inner"),
    File("kit/deep/data/de.txt", "Rose"),
    File("kit/deep/inner.py", "from ..last import thing"),
    File("kit/first.py", "def f():\n    from kit import second\n"),
    File("kit/last.py", "thing = 1"),
    File("kit/second.py", "import kit.deep"),
]
DATA = ["data.json", "texts/de.txt"]


def names(*sources):
    return [file.path.removeprefix("kit/") for file in reached(sources, FILES, "kit")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import kit", ["__init__.py", *DATA]),
        ("from kit.alone import os", ["__init__.py", "alone.py", *DATA]),
        ("from kit import last as x", ["__init__.py", *DATA, "last.py"]),
        (
            "from kit.first import f",
            [
                "__init__.py",
                *DATA,
                "deep/__init__.py",
                "deep/data/de.txt",
                "deep/inner.py",
                "first.py",
                "last.py",
                "second.py",
            ],
        ),
    ],
)
def test_imports_are_followed(source, found):
    assert names("x = 1", source) == found


def test_without_an_import_to_follow_everything_counts():
    assert names("print('kit')", "import importlib") == [f.path[4:] for f in FILES]


def test_a_circle_ends():
    circle = [File("kit/__init__.py", "from kit import a"), File("kit/a.py", "import kit")]
    assert reached(["import kit"], circle, "kit") == circle
