"""Choices that a parameter's comment names, read from source that is never run."""

import re

import pytest

from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.notebook.interface import parameters
from kernelkit.notebook.interface.values import resolve
from kernelkit.project import Project

SOURCE = """\
import a_library_that_nobody_has

raise RuntimeError("imported")

NAMES = ("rose", "tulip")
SIZES: list[int] = [1, 2]
KINDS = {"red": open, "blue": lambda: 1}
SET = {1.5, 2.5}
TABLE = dict(a=1)
MIXED = ("rose", TABLE)
EMPTY = ()
MERGED = {**KINDS, "green": 1}
"""


@pytest.fixture
def garden(tmp_path):
    package = tmp_path / "src" / "garden"
    (package / "beds").mkdir(parents=True)
    (package / "__init__.py").write_text("TOP = ('a',)")
    (package / "plants.py").write_text(SOURCE)
    (package / "beds" / "__init__.py").write_text("NAMES = ['b']")
    (package / "broken.py").write_text("A = 1\nB = (\n")
    (package / "latin.py").write_bytes("NAMES = ['blüte']".encode("latin-1"))
    return Project(tmp_path, packages=("garden",))


def constant(project, name):
    return parameters.declared(f"value = None  # in {name}", project)["value"].members


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("plants.NAMES", {"rose", "tulip"}),
        ("plants.SIZES", {1, 2}),
        ("plants.KINDS", {"red", "blue"}),
        ("plants.SET", {1.5, 2.5}),
        ("beds.NAMES", {"b"}),
        ("TOP", {"a"}),
    ],
)
def test_members_are_read_and_nothing_is_imported(garden, name, members):
    assert set(constant(garden, f"garden.{name}")) == members


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plans.NAMES", "there is no module garden.plans"),
        ("latin.NAMES", "latin.py must assign NAMES a tuple, list, set or dict of plain literals"),
        ("broken.NAMES", "broken.py must assign NAMES a tuple"),
        ("plants.NAME", "src/garden/plants.py must assign NAME a tuple"),
        ("plants.TABLE", "must assign TABLE a tuple"),
        ("plants.MERGED", "must assign MERGED a tuple"),
        ("plants.MIXED", "must assign MIXED a tuple"),
        ("plants.EMPTY", "must assign EMPTY a tuple"),
    ],
)
def test_what_is_wrong_with_a_constant_is_told_in_one_line(garden, name, message):
    with pytest.raises(NotebookError, match=re.escape(message)) as caught:
        constant(garden, f"garden.{name}")
    assert str(caught.value).startswith(f"garden.{name}: ")
    assert "\n" not in str(caught.value)


def test_a_constant_of_no_package_of_the_project_is_an_error(garden):
    message = r"^other.NAMES: other is not one of packages in \[tool.kernelkit\], which has garden$"
    with pytest.raises(NotebookError, match=message):
        constant(garden, "other.NAMES")


def test_a_package_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PreflightError, match="no folder other"):
        constant(Project(tmp_path, packages=("other",)), "other.NAMES")


def test_outside_of_a_project_nothing_is_looked_up(tmp_path):
    assert constant(Project(tmp_path), "garden.plants.NAMES") is None


CELL = """\
plant = 'rose'  # in garden.plants.NAMES: what grows
size = 1  # in garden.plants.SIZES
other = 'rose'  # in garden.plants.NAMES | wild:NAME: what else grows
"""


def test_a_parameter_takes_what_its_constant_holds(garden):
    known = parameters.declared(CELL, garden)
    assert resolve(known, ["plant=tulip", "size=2"]) == {"plant": "tulip", "size": 2}
    with pytest.raises(ParameterError, match="'tulp' is not allowed: did you mean tulip"):
        resolve(known, ["plant=tulp"])
    with pytest.raises(ParameterError, match="it takes 1 or 2"):
        resolve(known, ["size=9"])


def test_in_a_project_without_packages_no_value_is_taken_unchecked(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    known = parameters.declared(CELL, Project(tmp_path))
    assert resolve(known, ["other=wild:thyme"]) == {"other": "wild:thyme"}
    told = r"plant='tulp' is not allowed: name the package of garden\.plants\.NAMES, which"
    with pytest.raises(ParameterError, match=told):
        resolve(known, ["plant=tulp"])


def test_without_a_project_as_in_a_session_any_value_is_taken():
    anything = resolve(parameters.declared(CELL), ["plant=tulp"])
    assert anything == {"plant": "tulp"}


def test_a_parameter_takes_what_its_comment_adds(garden):
    known = parameters.declared(CELL, garden)
    assert resolve(known, ["other=wild:oats"]) == {"other": "wild:oats"}
    with pytest.raises(ParameterError, match="it takes rose, tulip or wild:NAME"):
        resolve(known, ["other=oats"])
