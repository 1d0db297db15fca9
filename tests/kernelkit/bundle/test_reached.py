import pytest

from kernelkit.bundle.packages import File, reached

FILES = [
    File("kit/__init__.py", ""),
    File("kit/alone.py", "import os"),
    File("kit/data.json", "{}"),
    File("kit/texts/de.txt", "Rose"),
    File("kit/deep/__init__.py", "from kit.deep import inner"),
    File("kit/deep/inner.py", "from ..last import thing"),
    File("kit/first.py", "def f():\n    from kit import second\n"),
    File("kit/folder.py", "HERE / 'texts' / f'{language}.txt'"),
    File("kit/last.py", "thing = 1"),
    File("kit/reader.py", "open('kit/data.json')"),
    File("kit/second.py", "import kit.deep"),
]


def names(*sources: str) -> list[str]:
    return [file.path.removeprefix("kit/") for file in reached(sources, FILES, "kit")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import kit", ["__init__.py"]),
        ("from kit import reader", ["__init__.py", "data.json", "reader.py"]),
        ("from kit import folder", ["__init__.py", "texts/de.txt", "folder.py"]),
        ("from kit.alone import os", ["__init__.py", "alone.py"]),
        ("from kit import last as x", ["__init__.py", "last.py"]),
        ("!pip list\nfrom kit import last", ["__init__.py", "last.py"]),
        (
            "from kit.first import f",
            [
                "__init__.py",
                "deep/__init__.py",
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
