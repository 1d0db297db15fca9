"""Choices that a parameter's comment names, read from source that is never run."""

import pytest

from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.notebook import parameters
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
MERGED = {**KINDS, "green": 1}
"""


@pytest.fixture
def garden(tmp_path):
    package = tmp_path / "src" / "garden"
    (package / "beds").mkdir(parents=True)
    (package / "__init__.py").write_text("TOP = ('a',)")
    (package / "plants.py").write_text(SOURCE)
    (package / "beds" / "__init__.py").write_text("NAMES = ['b']")
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
    "name",
    ["latin.NAMES", "plans.NAMES", "plants.NAME", "plants.TABLE", "plants.MERGED", "plants.MIXED"],
)
def test_a_constant_that_is_no_literal_is_an_error_in_one_line(garden, name):
    with pytest.raises(NotebookError, match=f"{name}: its module does not assign it") as caught:
        constant(garden, f"garden.{name}")
    assert "\n" not in str(caught.value)


def test_a_constant_of_a_package_that_is_not_there_is_an_error(garden):
    with pytest.raises(PreflightError, match="no folder other"):
        constant(garden, "other.NAMES")


def test_outside_of_a_project_nothing_is_looked_up(tmp_path):
    assert constant(Project(tmp_path), "garden.plants.NAMES") is None


def test_a_parameter_takes_what_its_constant_holds_and_its_comment_adds(garden):
    cell = (
        "plant = 'rose'  # in garden.plants.NAMES: what grows\nsize = 1  # in garden.plants.SIZES\n"
        "other = 'rose'  # in garden.plants.NAMES | wild:NAME: what else grows"
    )
    known = parameters.declared(cell, garden)

    assert parameters.resolve(known, ["plant=tulip", "size=2"]) == {"plant": "tulip", "size": 2}
    with pytest.raises(ParameterError, match="'tulp' is not allowed: did you mean tulip"):
        parameters.resolve(known, ["plant=tulp"])
    with pytest.raises(ParameterError, match="it takes 1 or 2"):
        parameters.resolve(known, ["size=9"])
    anything = parameters.resolve(parameters.declared(cell), ["plant=tulp"])  # as in a session
    assert anything == {"plant": "tulp"}
    assert parameters.resolve(known, ["other=wild:oats"]) == {"other": "wild:oats"}
    with pytest.raises(ParameterError, match="it takes rose, tulip or wild:NAME"):
        parameters.resolve(known, ["other=oats"])
