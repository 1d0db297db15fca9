"""A bundle carries what the notebook's imports reach, and the data of the packages they reach."""

import pytest

from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.files.own_files import own_files
from kernelkit.project import find_project

FILES = {
    "kit/__init__.py": "",
    "kit/alone.py": "import os",
    "kit/data.json": "{}",
    "kit/texts/de.txt": "Rose",
    "kit/deep/__init__.py": "from kit.deep import inner",
    "kit/deep/data/de.txt": "Rose",
    "kit/deep/inner.py": "from ..last import thing",
    "kit/first.py": "def f():\n    from kit import second\n",
    "kit/last.py": "thing = 1",
    "kit/second.py": "import kit.deep",
}
DEEP = ["deep/__init__.py", "deep/data/de.txt", "deep/inner.py"]
DATA = ["data.json", "texts/de.txt"]


@pytest.fixture
def names(tmp_path):
    """The files of the package that code with these sources needs; `files` adds to it."""

    def names(*sources, **files):
        added = {f"{name}.py": text for name, text in files.items()}
        for name, text in {**FILES, **added}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "pyproject.toml").write_text('[tool.kernelkit]\npackages = ["kit"]\n')
        notebook = tmp_path / "n.ipynb"
        program = Program.of([(str(n), text) for n, text in enumerate(sources)], cells=True)
        found = own_files(notebook, find_project(notebook), program)
        return sorted(file.path.removeprefix("kit/") for file in found.files)

    return names


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
def test_imports_are_followed(names, source, found):
    assert names("x = 1", source) == sorted(found)


WHOLE = sorted(name.removeprefix("kit/") for name in FILES)


def test_without_an_import_to_follow_everything_counts(names):
    assert names("print('kit')", "import json") == WHOLE


@pytest.mark.parametrize(
    "source",
    ["import kit\nimport_module(f'kit.{name}')", "import kit\n__import__(name)"],
)
def test_a_package_travels_whole_where_code_loads_by_name(names, source):
    assert names(source) == WHOLE


def test_so_it_does_where_its_own_code_loads_by_name(names):
    found = names("import kit", **{"kit/__init__": "def load(name):\n    return __import__(name)"})
    assert found == WHOLE


def test_a_star_stands_for_all_that_a_package_may_name(names):
    found = names("from kit.deep import *")
    assert found == sorted(["__init__.py", *DATA, *DEEP, "last.py"])


def test_a_module_beside_the_notebook_reaches_into_the_package(names):
    found = names("import kit, helper", helper="import kit.last")
    assert found == sorted(["__init__.py", *DATA, "last.py", "helper.py"])


def test_a_circle_ends(names):
    found = names("import kit.alone", **{"kit/alone": "import kit.second"})
    assert "second.py" in found
