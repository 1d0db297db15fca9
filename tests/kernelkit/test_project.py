"""What a repository says of itself in `[tool.kernelkit]`."""

import re
from pathlib import Path

import pytest

from kernelkit import files, project
from kernelkit.errors import PreflightError
from kernelkit.shown import Shown

SETTINGS = """
[tool.kernelkit.shown]
score = "rmse"
parameters = ["model"]
measures = { rmse = "RMSE", seconds = "seconds" }
"""


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """The root of a project with these settings, and no session."""
    monkeypatch.delenv(project.SHOWN)
    (tmp_path / "here/runs/a").mkdir(parents=True)
    (tmp_path / "here/pyproject.toml").write_text(SETTINGS)
    return tmp_path / "here"


def test_what_is_shown_is_what_the_project_says(here):
    shown = project.shown(here / "runs/a")
    assert shown == Shown("rmse", ("model",), {"rmse": "RMSE", "seconds": "seconds"})
    metrics = {"seconds": 3.0, "rmse": 0.25, "loss": 1.0, "device": {}}
    assert shown.texts(metrics) == {"rmse": ("RMSE", "0.2500"), "seconds": ("time", "3.0 s")}


def test_runs_kept_elsewhere_are_shown_as_the_present_project_says(here, tmp_path, monkeypatch):
    monkeypatch.chdir(here)
    assert project.shown(tmp_path).score == "rmse"


def test_a_session_is_told_by_a_variable(here, tmp_path, monkeypatch):
    monkeypatch.setenv(project.SHOWN, project.shown(here).as_json())
    monkeypatch.chdir("/")
    assert project.shown(tmp_path / "nowhere").measures == {"rmse": "RMSE", "seconds": "seconds"}


def test_without_settings_all_plain_numbers_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    metrics = {"val_loss": 1.5, "done": True, "name": "x", "epochs": 3}
    assert project.shown(tmp_path).texts(metrics) == {
        "val_loss": ("val loss", "1.5000"),
        "epochs": ("epochs", "3"),
    }


def test_from_a_subfolder_the_runs_are_those_of_the_project(tmp_path, monkeypatch):
    (tmp_path / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/er")
    assert project.runs_here() == Path("runs")  # of no project
    (tmp_path / "pyproject.toml").touch()
    assert project.runs_here() == Path("../../runs")
    monkeypatch.chdir(tmp_path)
    assert project.runs_here() == Path("runs")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[tool.kernelkit]\nwhels = []", "did you mean wheels"),
        ("[tool.kernelkit]\nqwertz = 1", "it takes attach, catalogue"),
        ("[[tool.kernelkit]]", r"below \[tool.kernelkit\], a table"),
        ("[kernelkit]", r"below \[tool.kernelkit\], a table"),
    ],
)
def test_a_setting_that_is_none_is_refused(tmp_path, text, hint):
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(PreflightError, match=hint):
        project.find_project(tmp_path)


@pytest.mark.parametrize(
    "setting",
    [
        'packages = "one"',
        "packages = [1]",
        'wheels = ["optuna"]',
        'wheels = ["https://me:token@example.com/x==1"]',
        'check = "petals.settings"',
        'check = ["a:b"]',
        'check = "a:b; import os"',
        'submission = "model.h5"',
        "reserve = 4",
        "reserve = {tpu = -1}",
        "reserve = {tpu = true}",
        "reserve = {tpu = nan}",
        "reserve = {cpu = 1}",
        'needs = {internt = ["a=b"]}',
        'tpu = {before_push = "yes"}',
        "tpu = {speed = 1}",
        """tpu = {command = "python 'compile"}""",
        """catalogue = "python 'fill" """,
        'needs = {internet = "weights=imagenet"}',
        'needs = {internet = ["weights"]}',
    ],
)
def test_a_value_that_a_setting_does_not_take_is_refused_and_not_repeated(tmp_path, setting):
    (tmp_path / "pyproject.toml").write_text(f"[tool.kernelkit]\n{setting}\n")
    with pytest.raises(
        PreflightError, match=f"{setting.split()[0]} in .tool.kernelkit. takes"
    ) as e:
        project.find_project(tmp_path)
    assert "token" not in str(e.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('"f1"', "it is not a table"),
        ("{score = 3}", "score is not a text"),
        ('{scores = "f1"}', "it has no key 'scores': did you mean score?"),
        ('{minimize = "false"}', "minimize is not true or false"),
        ('{parameters = "model"}', "parameters is not a list"),
        ("{parameters = [1]}", "entry 1 of parameters is not a text"),
        ('{measures = ["f1"]}', "measures is not a table"),
        ("{measures = {f1 = 1}}", "f1 of measures is not a text"),
        ('{sections = {title = "x"}}', "sections is not a list"),
        ('{sections = ["x"]}', "entry 1 of sections is not a table"),
        (
            '{sections = [{titel = "x"}]}',
            "entry 1 of sections has no key 'titel': did you mean title?",
        ),
        ('{sections = [{title = "x"}]}', "entry 1 of sections has no file"),
        (
            '{sections = [{title = 3, file = "x.csv"}]}',
            "title of entry 1 of sections is not a text",
        ),
        ('{sections = [{title = "x", file = 3}]}', "file of entry 1 of sections is not a text"),
        (
            '{sections = [{title = "x", file = "x.csv", caption = 1}]}',
            "caption of entry 1 of sections is not a text",
        ),
        (
            '{sections = [{title = "x", file = "x.csv", kind = "pie"}]}',
            r"sections\.kind is 'pie', not one of figure, table, bars, matrix, photos",
        ),
    ],
)
def test_what_is_wrong_in_shown_is_named(tmp_path, setting, message):
    (tmp_path / "pyproject.toml").write_text(f"[tool.kernelkit]\nshown = {setting}\n")
    with pytest.raises(PreflightError, match=rf"shown in \[tool\.kernelkit\] takes .*; {message}"):
        project.find_project(tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('packages = "one"', "it is not a list"),
        ('packages = ["one", 1]', "entry 2 is not a text"),
        ('packages = ["one", "my-package"]', "entry 2 is something else"),
        ('needs = {internt = ["a=b"]}', "it has no key 'internt': did you mean internet?"),
        ('needs = {internet = "a=b"}', "internet is not a list"),
        ('needs = {internet = ["a=b", "weights"]}', "entry 2 of internet is something else"),
        ('tpu = {before_push = "yes"}', "before_push is not true or false"),
        ("tpu = {note = 3}", "note is not a text"),
        ("tpu = {batc = 3}", "it has no key 'batc': did you mean batch?"),
        ("""tpu = {command = "python 'compile"}""", "No closing quotation"),
        ("""catalogue = "python 'fill" """, "No closing quotation"),
        ("catalogue = 3", "it is not a text"),
        ('hidden = {group = "a", time = "b"}', "it has both group and time"),
        ("keep_best = 3", "it is not a table"),
        ('keep_best = {"" = 3}', "keep_best takes names of files"),
    ],
)
def test_what_is_wrong_in_a_setting_is_named(tmp_path, setting, message):
    (tmp_path / "pyproject.toml").write_text(f"[tool.kernelkit]\n{setting}\n")
    with pytest.raises(PreflightError, match=re.escape(f"; {message}")):
        project.find_project(tmp_path)


@pytest.mark.parametrize("place", ["src/one.py", "one.py"])
def test_a_module_among_the_packages_is_told_where_to_go(tmp_path, place):
    files.write_text(tmp_path / place, "")
    with pytest.raises(
        PreflightError, match=r"one\.py is a module, and packages in .* takes folders"
    ):
        project.Project(tmp_path).package_folder("one")
