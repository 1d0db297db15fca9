"""Every parameter of 02_train acts, or is refused before anything is trained."""

import io
import re

import pytest
from checkouts import ROOT

from kernelkit.errors import ParameterError
from kernelkit.notebook import document, parameters
from kernelkit.sweep import specification
from kernelkit.sweep.request import SweepOptions
from kernelkit.sweep.run_sweep import sweep
from petals import settings
from petals.errors import SettingError

TRAIN = ROOT / "notebooks" / "02_train.py"
SWEEPS = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
KNOWN = parameters.declared(document.parameters_cell(document.read(TRAIN)).source)
DEFAULTS = {name: parameter.default for name, parameter in KNOWN.items()}
TUNED = {"fine_tune": "all"}
FROM_NOTHING = {"fine_tune": "all", "head": "none"}

ACCEPTED = [
    {},
    {"head": "gradient", "schedule": "exponential", "learning_rate": 0.02, "dropout": 0.0},
    {**TUNED, "dropout": 0.0, "batch_size": 64},
    {**FROM_NOTHING, "views": 2, "augment": "none", "mix": "cutmix"},
    {"validation": "fold:5/5"},
]

REFUSED = [
    ({"head": "none"}, "head=none with fine_tune=none trains nothing"),
    ({**TUNED, "epochs": 0}, "fine_tune=all with epochs=0 fine-tunes nothing"),
    ({"mix": "mixup", "epochs": 2}, "epochs=2, mix=mixup would be ignored: fine_tune=none"),
    ({"views": 2, "augment": "strong"}, "augment=strong would be ignored"),
    ({**TUNED, "mix": "mixup", "batch_size": 7}, "mix=mixup with batch_size=7: images are mixed"),
    ({"validation": "fold:6/5"}, "validation=fold:6/5 names no fold: the five folds are fold:1/5"),
    *(({"validation": f"fold:{fold}"}, "names no fold") for fold in ("0/5", "1/1", "one")),
    ({"dropout": 0.5}, "dropout=0.5 would be ignored: the logistic head"),
    ({"validation": "Val"}, "validation='Val' is not allowed: it takes val | none | fold:K/N"),
    *(({name: "Typo"}, f"{name}='Typo' is not allowed") for name in settings.CHOICES),
]

RESOLVED = [
    (TUNED, ("logistic", 2)),
    ({"weights": "none"}, ("logistic", 2)),
    ({**TUNED, "weights": "none"}, ("gradient", 1)),
    ({**TUNED, "backbone": "SmallNet"}, ("gradient", 1, "none")),  # it has no other weights
    ({"head": "logistic", "views": 3}, ("logistic", 3)),
]


def named(given):
    return " ".join(f"{name}={value}" for name, value in given.items()) or "defaults"


@pytest.mark.parametrize("given", ACCEPTED, ids=named)
def test_settings_that_act_are_accepted(given):
    settings.resolve(DEFAULTS | given)


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=[named(given) for given, _ in REFUSED])
def test_settings_that_would_not_act_are_refused_in_one_line(given, why):
    with pytest.raises(SettingError, match=re.escape(why)) as error:
        settings.resolve(DEFAULTS | given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("given", "expected"), RESOLVED)
def test_open_settings_are_resolved_by_the_head(given, expected):
    resolved = settings.resolve(DEFAULTS | given)
    values = resolved["head"], resolved["views"], resolved["weights"]
    assert values[: len(expected)] == expected
    assert settings.resolve(resolved) == resolved  # those that a run records can be given again


def test_parameters_and_defaults_are_those_of_the_notebook():
    assert tuple(DEFAULTS) == settings.PARAMETERS
    assert tuple(settings.resolve(DEFAULTS | {"another": 1})) == settings.PARAMETERS
    assert DEFAULTS.items() >= {**settings.BY_GRADIENT, **settings.FINE_TUNING}.items()
    rules = {name: p.rule for name, p in KNOWN.items() if p.type is str and p.rule}
    free = {"backbone", "weights", "resume"}  # a file, a folder or one of very many names
    assert {name: rule for name, rule in rules.items() if name not in free} == settings.CHOICES


def test_the_check_needs_no_tensorflow(python):
    python("import sys, petals.settings; sys.exit('tensorflow' in sys.modules)")


def test_the_notebook_checks_before_it_looks_for_an_accelerator():
    cells = [cell for cell in document.read(TRAIN).cells if cell.cell_type == "code"]
    assert document.has_tag(cells[0], "parameters")
    code = "\n".join(cell.source for cell in cells)
    assert 0 < code.find("= resolve(globals())") < code.find("detect(")
    assert "head, views, weights = (settings[name]" in code  # all that "auto" may stand for


def test_the_cell_has_its_parameters_under_four_headings():
    lines = document.parameters_cell(document.read(TRAIN)).source.splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# Data", "# Model", "# Training", "# Machine and session"]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_shipped_sweeps_ask_for_nothing_that_is_ignored(path):
    commands = re.findall(r"kernelkit sweep(.*)", re.sub(r"\s*\\\n#?\s*", " ", path.read_text()))
    assert commands
    for command in commands:
        sweep = specification.read(path, re.findall(r"-p (\S+)", command))
        for run in (*sweep.runs, *specification.read(path, kaggle=True).runs):
            settings.resolve(run.values)
        for name, values in sweep.search.get("space", {}).items():
            ends = values if isinstance(values, list) else [values["low"], values["high"]]
            for value in ends:
                settings.resolve(DEFAULTS | dict(sweep.base) | {name: value})


ABSENT = ("photos", "me/photos", "./me/attached", "/kaggle/input/datasets/me/other")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"mix": "mixup"}, "mix=mixup would be ignored"),
        *(({"data": f"auto, {name}"}, f"data={name} is not attached") for name in ABSENT),
        ({"data": "auto,me/attached,gs://bucket"}, None),
        ({"data": "me/attached?image=photo&class=kind"}, None),
        ({"data": "me/photos?image=photo"}, "data=me/photos is not attached"),
        ({"data": "auto,me/attached", "image_size": 100}, "image_size=100: the competition's"),
        ({"data": "/kaggle/input/attached/deep"}, None),
        ({"weights": "notop.h5"}, None),  # its name among what is attached
        *(({"weights": f"{name}/a.h5"}, f"weights={name}/a.h5 is not in") for name in ABSENT),
        ({"weights": "/kaggle/input/datasets/me/attached/notop.h5"}, None),
    ],
)
def test_the_desk_applies_the_notebooks_rules(changes, problem):
    sources = {"dataset": ["Me/attached/2"]}
    problems = list(settings.check("02_train", DEFAULTS | changes, sources))
    assert (problems == []) if problem is None else problem in problems[0]
    assert list(settings.check("01_explore", {"data": "me/photos"}, sources)) == []
    if "data" in changes:  # at home nothing is attached
        assert list(settings.check("02_train", DEFAULTS | changes, None)) == []


def test_a_competition_has_no_weights():
    changed = DEFAULTS | {"weights": "notop.h5"}
    (problem,) = settings.check("02_train", changed, {"competition": ["flowers"]})
    assert "weights=notop.h5 is not in the session: attach" in problem


def test_a_sweep_is_refused_before_its_first_run(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(f"notebook: {TRAIN}\nbase: {{fine_tune: none}}\ngrid: {{mix: [none, mixup]}}\n")
    with pytest.raises(ParameterError, match="mix=mixup would be ignored"):
        sweep(file, options=SweepOptions(output=tmp_path / "out", stream=io.StringIO()))
    assert not (tmp_path / "out").exists()
