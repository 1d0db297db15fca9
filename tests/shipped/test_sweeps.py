"""The sweeps that ship, on Kaggle: each run has what it needs, and sessions end well."""

import csv
import io
from pathlib import Path

import pytest

from kernelkit.push import plan
from kernelkit.sweep.command import sweep
from kernelkit.sweep.config import specification

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
WEIGHTS = "someone/weights"
# As little as a run can be, on the machine that starts fastest.
SMALL = ("limit=8", "head_epochs=1", "epochs=1", "batch_size=4", "tta=1", "accelerator=cpu")

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


def two_runs(file):
    """Overrides that leave a sweep two runs: two values of its first axis, one of each other.

    A search is told to make two.
    """
    runs = specification.read(file, kaggle=True).runs
    if not runs:
        file.write_text(file.read_text().replace("trials: 20", "trials: 2"))
        return []
    varying = [n for n in runs[0].values if len({str(run.values[n]) for run in runs}) > 1]
    first, *others = [name for name in varying if name != "seed"]
    pair = list(dict.fromkeys(run.values[first] for run in runs))[:2]
    fixed = [f"{name}={runs[-1].values[name]}" for name in [*others, "seed"] if name in varying]
    return [f"{first}=[{pair[0]}, {pair[1]}]", *fixed]


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
    given = {parameter.partition("=")[0] for parameter in parameters}
    try:
        small = [pair for pair in SMALL if pair.partition("=")[0] not in given]
        sweep(file, [*parameters, *small], output=folder, kaggle=True, local=True, report=False,
              stream=stream)  # fmt: skip
    finally:
        print(stream.getvalue())
    with (folder / "results.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.timeout(300)
def test_one_sweep_goes_to_the_local_kaggle_and_back(checkout):
    small = ("backbone=SmallNet", "weights=none", "image_size=192", "fine_tune=last:1")
    rows = rehearse(checkout, "schedule", "schedule=cosine", "seed=0", *small)

    assert [row["state"] for row in rows] == ["done"]
    assert all(0 <= float(row["macro_f1"]) <= 1 for row in rows)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_two_runs_of_every_sweep_reach_their_end(file, checkout, weights):
    overrides = two_runs(checkout.root / "notebooks" / "sweeps" / file.name)
    asked = specification.read(file, overrides, kaggle=True)
    runs = asked.runs or [asked.run({})]
    checkout.attach(weights({run.values["backbone"] for run in runs}), WEIGHTS)

    rows = rehearse(checkout, file.stem, *overrides)

    assert [row["state"] for row in rows] == ["done", "done"]
