from dataclasses import replace

import pytest

from kernelkit.errors import NotebookError
from kernelkit.notebook.project_rules import calling, rules
from kernelkit.project import Project

RULES = """\
print("a library's greeting")

def check(notebook, values, sources):
    if values["fold"] >= values["folds"]:
        yield f"{notebook}: fold={values['fold']} is out of range"
    if sources is not None and values["data"] not in sources["dataset"]:
        yield f"data={values['data']} is not attached"

def raises(notebook, values, sources):
    raise ValueError("nothing fits")

def one_text(notebook, values, sources):
    return "lr is too high"

def no_text(notebook, values, sources):
    return ""
"""


@pytest.fixture
def project(tmp_path):
    def project(check):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src" / "soil_rules.py").write_text(RULES)
        return Project(tmp_path, check=check)

    return project


def asked(project, *runs, sources=None):
    return rules.problems(project, project.root / "train.ipynb", runs, sources)


def test_all_runs_are_asked_about_in_one_process(project):
    good, bad = {"fold": 0, "folds": 2, "data": "a/b"}, {"fold": 2, "folds": 2, "data": "a/b"}
    answers = asked(project("soil_rules:check"), good, bad, good)
    assert answers == [[], ["train: fold=2 is out of range"], []]


def test_the_rules_know_what_is_attached(project):
    run = {"fold": 0, "folds": 2, "data": "a/b"}
    at = project("soil_rules:check")
    assert asked(at, run, sources={"dataset": ("a/b",)}) == [[]]
    assert asked(at, run, sources={"dataset": ()}) == [["data=a/b is not attached"]]


def test_an_exception_is_a_problem(project):
    assert asked(project("soil_rules:raises"), {}) == [["nothing fits"]]


@pytest.mark.parametrize(("function", "found"), [("one_text", ["lr is too high"]), ("no_text", [])])
def test_a_single_text_is_one_problem(project, function, found):
    assert asked(project(f"soil_rules:{function}"), {}) == [found]


def test_without_rules_nothing_is_asked(project):
    assert asked(project(""), {}, {}) == [[], []]


@pytest.mark.parametrize(
    ("check", "why"),
    [("soil_rules:chekc", "no attribute 'chekc'"), ("missing:check", "No module named 'missing'")],
)
def test_rules_that_cannot_be_asked_are_not_taken_as_passed(project, check, why):
    with pytest.raises(NotebookError, match=why):
        asked(project(check), {})


def test_rules_that_hang_are_given_up(project, monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 0.2)
    at = project("soil_rules:check")
    (at.root / "src" / "soil_rules.py").write_text("import time; time.sleep(9)")
    with pytest.raises(NotebookError, match="more than 0 s"):
        asked(at, {})


SOURCES = """\
def sources(notebook, values):
    names = [f"keras/{name}/keras/small/1" for name in values["models"]]
    return {"model": names} if names else {}

def wrong(notebook, values):
    return {"models": ["a/b/c/d/1"]}

def no_note(notebook, values):
    return {"model": {"a/b/c/d/1": None}}

def raises(notebook, values):
    raise ValueError("no such data set")
"""


def needed(project, function, *runs):
    at = replace(project(""), sources=f"own_sources:{function}")
    (at.root / "src" / "own_sources.py").write_text(SOURCES)
    return rules.sources(at, at.root / "train.ipynb", runs)


def test_what_each_run_reads_is_named(project):
    runs = [{"models": ["oak", "elm"]}, {"models": []}, {"models": ["elm", "ash"]}]
    oak, elm, ash = (f"keras/{name}/keras/small/1" for name in ("oak", "elm", "ash"))
    assert needed(project, "sources", *runs) == [
        {"model": {oak: "", elm: ""}},
        {},
        {"model": {elm: "", ash: ""}},
    ]
    none = rules.sources(project(""), project("").root / "train.ipynb", runs)
    assert none == [{}, {}, {}]


def test_what_the_function_for_sources_raises_is_the_error(project):
    message = r"^sources = 'own_sources:raises' in \[tool.kernelkit\]: no such data set$"
    with pytest.raises(NotebookError, match=message):
        needed(project, "raises", {})


@pytest.mark.parametrize("function", ["wrong", "no_note", "missing", "sources"])
def test_an_answer_that_names_no_sources_is_an_error(project, function):
    with pytest.raises(NotebookError, match=r"sources = 'own_sources:\w+' in \[tool.kernelkit\]"):
        needed(project, function, {"another": 1})
