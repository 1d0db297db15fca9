"""The sweeps that ship, on Kaggle: each run has what it needs, and sessions end well."""

import csv
import io
import json

import pytest
import yaml
from checkouts import ROOT

from kernelkit.push.checks import preflight
from kernelkit.push.described import metadata
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.sweep.planning import read_sweep
from kernelkit.sweep.run_sweep import sweep
from kernelkit.sweep.sweep_options import SweepOptions

SHIPPED = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
ON_THEIR_OWN = ("search", "machine")  # one asks Optuna, the other makes a session a machine
WEIGHTS = "someone/weights"
# As little as a run can be; what only fine-tuning knows is left out where there is none.
SMALL = {"limit": 8, "views": 1}
SMALL_TUNING = {"epochs": 1, "batch_size": 4}
# A network of Keras is traced for up to a minute a run, and SmallNet in seconds: it is trained
# unless the sweep is about the network, or about the part of it that is trained.
ABOUT_NETWORKS = ("backbone", "heads", "trained_part")
SMALLER = dict.fromkeys(("EfficientNetB0", "EfficientNetV2S", "dinov2-base"), "MobileNet-0.25")


pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """Saves untrained weights under Keras's own names, once a backbone; gives their folder."""
    folder = tmp_path_factory.mktemp("weights")

    def save(names):
        from petals.models.backbones import Backbone

        for name in names:
            for file in Backbone(name).weights_files(224)[:1]:
                path = folder / (file.removesuffix(".h5") + ".weights.h5")
                if not path.exists():
                    Backbone(name).build(224).save_weights(str(path))
        return folder

    return save


def small(values, about_networks=True):
    """A run's values with as little work as it can have, on the machine that starts fastest."""
    fewer = dict(SMALL)
    fewer["backbone"] = SMALLER.get(values["backbone"], values["backbone"])
    if values.get("fine_tune", "none") != "none":
        fewer |= SMALL_TUNING
        if not about_networks:
            fewer |= {"backbone": "SmallNet", "weights": "none"}
    if values.get("more_backbones"):
        fewer["more_backbones"] = "SmallNet"
    if values.get("accelerator", "auto") == "auto":
        fewer["accelerator"] = "cpu"
    return values | fewer


def planned(name, at):
    """The first (0) or the last (-1) run of a sweep on Kaggle, made small."""
    file = ROOT / "notebooks" / "sweeps" / f"{name}.yaml"
    values = read_sweep.read(file, kaggle=True).runs[at].values
    return small(dict(values), name in ABOUT_NETWORKS)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_each_run_of_a_sweep_has_what_it_needs_on_kaggle_and_its_file_says_how_it_runs(file):
    asked = read_sweep.read(file, kaggle=True)
    starts = [run.values for run in asked.runs or [asked.run({})]]
    planned = plan_push(PushRequest.of(metadata=metadata.locate(file), starts=starts))
    found = preflight.run_checks(planned)

    assert [finding.text for finding in found if finding.level == "error"] == []
    assert asked.warm
    assert asked.search or len(starts) >= 3
    command = f"\n#   kernelkit sweep notebooks/sweeps/{file.name}"
    header = file.read_text()
    assert all(words in header for words in (f"{command}\n", f"{command} --kaggle"))
    assert "\n# The result to expect" in header


@pytest.fixture
def rehearse(checkout, weights):
    """Edits a sweep's file, and pushes it to the local Kaggle; gives the rows of its table.

    `edit` changes what the file asks for, and gives the backbones whose weights are attached.
    """

    def rehearse(name, edit):
        file = checkout / "notebooks" / "sweeps" / f"{name}.yaml"
        asked = yaml.safe_load(file.read_text())
        dataset = checkout / "runs/local_kaggle/catalogue/datasets" / WEIGHTS
        dataset.parent.mkdir(parents=True)
        dataset.symlink_to(weights(edit(asked)))
        metadata_file = checkout / "kernel-metadata.json"
        values = json.loads(metadata_file.read_text()) | {"dataset_sources": [WEIGHTS]}
        metadata_file.write_text(json.dumps(values))
        file.write_text(yaml.safe_dump(asked, sort_keys=False))
        stream, folder = io.StringIO(), checkout / "runs" / name
        options = SweepOptions(output=folder, kaggle=True, local=True, report=False, stream=stream)
        try:
            sweep(file, (), options)
        finally:
            print(stream.getvalue())
        with (folder / "results.csv").open(newline="") as lines:
            return list(csv.DictReader(lines))

    return rehearse


def making(runs):
    """Leave a sweep's file these runs alone, each with all its values."""

    def edit(asked):
        for part in (asked, asked["kaggle"]):
            for key in ("base", "grid", "runs", "seeds", "exclude"):
                part.pop(key, None)
        asked["runs"] = runs
        return {values["backbone"] for values in runs} - {"SmallNet"}  # it has no weights

    return edit


# Each sweep's process would import TensorFlow again: one session makes a run of all of them.
@pytest.mark.long
def test_the_last_run_of_every_sweep_reaches_its_end(rehearse):
    names = [file.stem for file in SHIPPED if file.stem not in ON_THEIR_OWN]
    last = {str(values): values for values in (planned(name, -1) for name in names)}

    rows = rehearse("schedule", making([*last.values()]))

    assert [row["state"] for row in rows] == ["done"] * len(last)
    assert all(0 <= float(row["macro_f1"]) <= 1 for row in rows)


@pytest.mark.long
def test_a_sweep_over_machines_makes_a_session_on_each(rehearse):
    rows = rehearse("machine", making([planned("machine", at) for at in (0, -1)]))

    assert [(row["accelerator"], row["state"]) for row in rows] == [
        ("tpu", "done"),
        ("cpu", "done"),
    ]


@pytest.mark.long
def test_a_search_makes_its_trials(rehearse):
    def two_trials(asked):
        for part in (asked, asked["kaggle"]):
            part["search"]["trials"] = 2
        base = asked["base"] | asked["kaggle"].pop("base")
        asked["base"] = small(base, about_networks=False)
        asked["base"]["accelerator"] = "cpu"  # its file asks for a GPU
        return []

    assert [row["state"] for row in rehearse("search", two_trials)] == ["done", "done"]
