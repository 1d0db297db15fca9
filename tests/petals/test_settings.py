"""Every parameter of 02_train acts, or is refused before anything is trained."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelkit.notebooks import document, parameters
from kernelkit.sweep.config import specification
from petals import settings
from petals.errors import SettingError
from petals.training.plan import RunPlan

ROOT = Path(__file__).parents[2]
TRAIN = ROOT / "notebooks" / "02_train.py"
SWEEPS = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
KNOWN = parameters.declared(document.parameters_cell(document.read(TRAIN)).source)
DEFAULTS = {name: parameter.default for name, parameter in KNOWN.items()}
TUNED = {"fine_tune": "all"}
FROM_NOTHING = {"fine_tune": "all", "head_epochs": 0}

ACCEPTED = [
    {},
    {"dropout": 0.0, "label_smoothing": 0.0, "weight_decay": 1e-4, "tta": 3},
    {"schedule": "exponential", "learning_rate": 0.02, "seed": 7},
    {"epochs": 0},
    {"views": 3},
    {"views": 3, "augment": "strong"},
    {"tta": 2, "batch_size": 8},
    TUNED,
    FROM_NOTHING,
    {**FROM_NOTHING, "augment": "none", "mix": "cutmix", "custom_loop": True, "scale_rate": False},
    {**TUNED, "epochs": 1, "batch_size": 8, "checkpoint_minutes": 0.0, "views": 2},
    {**TUNED, "fine_tune": "last:3", "augment": "none"},
]

REFUSED = [
    ({"head_epochs": 0}, "head_epochs=0 with fine_tune=none trains nothing"),
    ({"head_epochs": 0, "epochs": 0}, "trains nothing"),
    ({**TUNED, "epochs": 0}, "fine_tune=all with epochs=0 fine-tunes nothing"),
    ({**FROM_NOTHING, "epochs": 0}, "fine-tunes nothing"),
    ({"augment": "strong"}, "augment=strong would be ignored: fine_tune=none"),
    ({"augment": "none"}, "augment=none would be ignored"),
    ({"mix": "mixup"}, "mix=mixup would be ignored"),
    ({"custom_loop": True}, "custom_loop=True would be ignored"),
    ({"scale_rate": False}, "scale_rate=False would be ignored"),
    ({"epochs": 9}, "epochs=9 would be ignored"),
    ({"batch_size": 64}, "batch_size=64 would be ignored"),
    ({"checkpoint_minutes": 1.0}, "checkpoint_minutes=1.0 would be ignored"),
    ({"mix": "mixup", "epochs": 2}, "epochs=2, mix=mixup would be ignored"),
    ({**FROM_NOTHING, "views": 2}, "views=2 would be ignored: views are for the head"),
    ({"views": 4, "augment": "none"}, "views=4 with augment=none"),
    ({**TUNED, "views": 4, "augment": "none"}, "views=4 with augment=none"),
]


def named(given):
    return " ".join(f"{name}={value}" for name, value in given.items()) or "defaults"


@pytest.mark.parametrize("given", ACCEPTED, ids=named)
def test_what_acts_is_accepted(given):
    settings.check(DEFAULTS | given)


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=[named(given) for given, _ in REFUSED])
def test_what_would_not_act_is_refused_in_one_line(given, why):
    with pytest.raises(SettingError, match=re.escape(why)) as error:
        settings.check(DEFAULTS | given)
    assert "\n" not in str(error.value)


def test_defaults_are_those_of_the_notebook():
    assert {name: quiet[0] for name, quiet in settings.FINE_TUNING.items()} == {
        name: DEFAULTS[name] for name in settings.FINE_TUNING
    }


def test_the_check_needs_no_tensorflow():
    code = "import sys, petals.settings; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_notebook_checks_before_it_looks_for_an_accelerator():
    cells = [cell for cell in document.read(TRAIN).cells if cell.cell_type == "code"]
    assert document.has_tag(cells[0], "parameters")
    assert 0 < cells[1].source.find("\ncheck(settings)") < cells[1].source.find("detect(")


@pytest.mark.parametrize(("scale_rate", "peak"), [(True, 0.04), (False, 0.005)])
def test_the_tutorials_rate_can_be_had_as_it_is_on_eight_replicas(scale_rate, peak):
    given = DEFAULTS | {"schedule": "exponential", "scale_rate": scale_rate}
    rates = RunPlan(None, 256, 100, given, replicas=8).rates
    assert np.isclose(rates.max(), peak, rtol=0.01)


def commands(text, start):
    """The arguments of every command in a text, its continuation lines joined."""
    joined = re.sub(r"\s*\\\n#?\s*", " ", text)
    return [shlex.split(line)[1:] for line in re.findall(rf"{re.escape(start)}(.*)", joined)]


def given_in(words):
    return [words[n + 1] for n, word in enumerate(words) if word == "-p"]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_shipped_sweeps_ask_for_nothing_that_is_ignored(path):
    found = commands(path.read_text(), "tools/sweep.py")
    assert found
    for words in found:
        sweep = specification.read(path, given_in(words))
        for run in sweep.runs:
            settings.check(run.values)
        for run in specification.read(path, kaggle=True).runs:
            settings.check(run.values)
        for name, values in sweep.search.get("space", {}).items():
            ends = values if isinstance(values, list) else [values["low"], values["high"]]
            for value in ends:
                settings.check(DEFAULTS | dict(sweep.base) | {name: value})


@pytest.mark.parametrize("name", ["README.md", "Makefile"])
def test_documented_commands_ask_for_nothing_that_is_ignored(name):
    text = (ROOT / name).read_text().replace("…", "")
    starts = {"README.md": ("02_train.py", "push_kernel.py"), "Makefile": ("FIRST_RUN =",)}[name]
    found = [words for start in starts for words in commands(text, start) if "-p" in words]
    assert found
    for words in found:
        given = [text for text in given_in(words) if text.partition("=")[0] in KNOWN]
        settings.check(DEFAULTS | parameters.resolve(KNOWN, given))
