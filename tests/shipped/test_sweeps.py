"""The sweeps that ship, on Kaggle: each run has what it needs, and sessions end well."""

import csv
import io
from pathlib import Path

import pytest
import yaml

from kernelkit.push import plan
from kernelkit.sweep.command import sweep
from kernelkit.sweep.config import specification

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
WEIGHTS = "someone/weights"
# As little as a run can be; what only fine-tuning knows is left out where there is none.
SMALL = {"limit": 8, "tta": 1}
SMALL_TUNING = {"epochs": 1, "batch_size": 4}

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """Saves untrained weights under Keras's own names, once a backbone; gives their folder."""
    folder = tmp_path_factory.mktemp("weights")

    def save(names):
        from petals.models.backbones import BACKBONES

        for name in names:
            for file in BACKBONES[name].weights_files(224)[:1]:
                path = folder / (file.removesuffix(".h5") + ".weights.h5")
                if not path.exists():
                    BACKBONES[name].build(224).save_weights(str(path))
        return folder

    return save


def small(values):
    """A run's values with as little work as it can have, on the machine that starts fastest."""
    fewer = SMALL | (SMALL_TUNING if values.get("fine_tune", "none") != "none" else {})
    if values.get("head_epochs", 0) > 0:
        fewer["head_epochs"] = 1
    if values.get("accelerator", "auto") == "auto":
        fewer["accelerator"] = "cpu"
    return values | fewer


def two_runs(file):
    """Leave a sweep's file two of its runs on Kaggle, the first and the last, made small.

    A search is told to make two.
    """
    asked = yaml.safe_load(file.read_text())
    runs = specification.read(file, kaggle=True).runs
    for part in (asked, asked.setdefault("kaggle", {})):
        for key in ("grid", "runs", "seeds", "exclude"):
            part.pop(key, None)
    if runs:
        asked["base"], asked["kaggle"]["base"] = {}, {}
        asked["runs"] = [small(dict(runs[at].values)) for at in (0, -1)]
    else:
        for part in (asked, asked["kaggle"]):
            part["search"]["trials"] = 2
        asked["base"] = small(asked["base"] | asked["kaggle"].pop("base", {}))
        asked["base"]["accelerator"] = "cpu"  # its file asks for a GPU
    file.write_text(yaml.safe_dump(asked, sort_keys=False))
    given = asked.get("runs") or [asked["base"]]
    return [values["backbone"] for values in given]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_each_run_of_a_sweep_has_what_it_needs_on_kaggle(file):
    asked = specification.read(file, kaggle=True)
    starts = [run.values for run in asked.runs or [asked.run({})]]
    found = plan.make(None, (), plan.locate(file), None, None, None, starts).findings

    assert [finding.text for finding in found if finding.level == "error"] == []
    assert not any("no parameter needs it" in finding.text for finding in found)
    assert f"#   python tools/sweep.py notebooks/sweeps/{file.name} --kaggle" in file.read_text()


def rehearse(checkout, name, *parameters):
    """Push one to the local Kaggle; returns the rows of its table."""
    stream = io.StringIO()
    file = checkout.root / "notebooks" / "sweeps" / f"{name}.yaml"
    folder = checkout.runs / name
    try:
        sweep(file, parameters, output=folder, kaggle=True, local=True, report=False, stream=stream)
    finally:
        print(stream.getvalue())
    with (folder / "results.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.long
@pytest.mark.timeout(300)
def test_one_sweep_goes_to_the_local_kaggle_and_back(checkout):
    least = ("backbone=SmallNet", "weights=none", "image_size=192", "fine_tune=last:1", "limit=8",
             "head_epochs=1", "epochs=1", "batch_size=4", "accelerator=cpu")  # fmt: skip
    rows = rehearse(checkout, "schedule", "schedule=cosine", "seed=0", *least)

    assert [row["state"] for row in rows] == ["done"]
    assert all(0 <= float(row["macro_f1"]) <= 1 for row in rows)


@pytest.mark.long
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_two_runs_of_every_sweep_reach_their_end(file, checkout, weights):
    backbones = two_runs(checkout.root / "notebooks" / "sweeps" / file.name)
    checkout.attach(weights(set(backbones)), WEIGHTS)

    rows = rehearse(checkout, file.stem)

    assert [row["state"] for row in rows] == ["done", "done"]
