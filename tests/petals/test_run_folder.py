import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from petals import storage
from petals.errors import PetalsError, SettingError, StorageError
from petals.models.restore import CARD, FILE
from petals.plots import photos
from petals.plots import run as plots
from petals.run_folder import RESULTS, RunFolder

SCORES = dict.fromkeys(("loss", "val_loss", "val_accuracy", "val_macro_f1", "accuracy"), 0.5)
HISTORY = [
    {"phase": phase, "epoch": 1, "learning_rate": 0.1, "images_per_second": 100.0, "seconds": s}
    | SCORES
    for phase, s in (("head", 9.0), ("fine-tune", 5.0), ("fine-tune", 3.0), ("fine-tune", 2.0))
]


def test_the_folder_holds_what_the_design_says(tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    run.write_history(HISTORY)
    answer = np.array([[0.2, 0.8]])
    run.write_predictions("val", np.array(["a"]), labels=np.array([1]), probabilities=answer)
    run.write_predictions("test", np.array(["a", "b"]), probabilities=np.eye(2))
    run.warn("the head was kept")
    run.write_metrics({"macro_f1": 0.9})
    metrics = json.loads((run.path / "metrics.json").read_text())
    assert metrics["macro_f1"] == 0.9
    assert metrics["warnings"] == ["the head was kept"]
    assert metrics.keys() > {"seconds", "ended", "versions", "git"}
    with (run.path / "history.csv").open() as file:
        assert [row["phase"] for row in csv.DictReader(file)] == [r["phase"] for r in HISTORY]
    assert np.load(run.path / "val_predictions.npz")["labels"].tolist() == [1]
    stored = np.load(run.path / "test_predictions.npz")
    assert stored["ids"].tolist() == ["a", "b"]
    assert stored["probabilities"].dtype == np.float32


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of the folder that goes at its end
def test_a_host_that_is_not_the_first_writes_elsewhere_until_it_ends(tmp_path):
    run = RunFolder(str(tmp_path / "run"), writes=False)
    run.write_history(HISTORY)
    assert (run.path / "history.csv").is_file()
    assert not (tmp_path / "run").exists()
    place = run.path
    del run
    assert not place.exists()


@pytest.mark.long
def test_a_notebook_with_a_run_folder_carries_no_model_and_no_data_set():
    code = (
        "import sys; import petals.run_folder; "
        "print(*(name for name in sys.modules if name.startswith('petals.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms & {"data", "models", "training", "accelerators", "registry", "settings"} == set()


def test_the_default_folder_depends_on_where_it_runs(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")  # as Jupyter starts a notebook there
    assert RunFolder().path == tmp_path / "notebooks/runs/latest"
    (tmp_path / "kernel-metadata.json").write_text("{}")
    assert RunFolder().path == tmp_path / "runs/latest"
    # What trains nothing writes over no trained run.
    assert RunFolder("", "compare").path == tmp_path / "runs/compare"
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    assert str(RunFolder().path) == "."


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), StorageError), (KeyboardInterrupt(), None)],
)
def test_a_failed_or_interrupted_write_keeps_the_old_file(tmp_path, error, raised):
    storage.write_text(tmp_path / "a.txt", "old")
    with pytest.raises(raised or type(error)), storage.replacing(tmp_path / "a.txt") as part:
        part.write_text("new")
        raise error
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_the_results_of_an_earlier_run_go_but_not_its_checkpoints_or_the_weights(tmp_path):
    assert {CARD, FILE} <= set(RESULTS)
    kept = ["checkpoints/a.npz", "mine.csv", "classifier.h5"]
    for name in (*RESULTS, *kept):
        storage.write_text(tmp_path / name, "earlier")
    storage.write_json(tmp_path / "metrics.json", {"parameters": {"seed": 1}})
    run = RunFolder(str(tmp_path), parameters={"seed": 1})
    assert all((tmp_path / name).is_file() for name in RESULTS), "the settings may be wrong yet"
    run.write_history(HISTORY)  # of this run, which resumes
    run.clear("runs/latest/classifier.h5")
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert left == {*kept, "history.csv"}
    assert (tmp_path / "history.csv").read_text() != "earlier"


def test_a_run_never_writes_over_the_results_of_another_one(tmp_path):
    folder = str(tmp_path / "kept")
    storage.write_json(tmp_path / "kept/metrics.json", {"parameters": {"seed": 1, "resume": "a"}})
    with pytest.raises(SettingError, match=r"holds the .* another run \(seed=1 there, 2 here\)"):
        RunFolder(folder, parameters={"seed": 2, "resume": "auto"}, free=["resume"])
    for name in ("compare", "predict", "explore"):
        with pytest.raises(SettingError, match=r"another run \(metrics.json\)"):
            RunFolder(folder, name)
    # The same run may be repeated there, or go on.
    same = RunFolder(folder, parameters={"seed": 1, "resume": "auto"}, free=["resume"])
    assert str(same.path) == folder
    storage.write_text(tmp_path / "kept/metrics.json", "{")
    with pytest.raises(SettingError, match="cannot be read"):
        RunFolder(folder, parameters={"seed": 1})


def test_a_notebook_that_trains_nothing_may_repeat_its_own_results_only(tmp_path):
    folder = str(tmp_path)
    storage.write_text(tmp_path / "comparison.json", "{}")
    assert RunFolder(folder, "compare").path == tmp_path
    for name, parameters in (("predict", None), ("latest", {"seed": 1})):
        with pytest.raises(SettingError, match=r"comparison\.json"):
            RunFolder(folder, name, parameters=parameters)


def test_a_users_mistake_has_no_traceback_in_jupyter():
    assert PetalsError("do this")._render_traceback_() == ["PetalsError: do this"]


def test_a_figure_in_a_notebook_has_a_caption_and_a_text_for_those_who_cannot_see_it(tmp_path):
    rates = np.array([1e-3, 5e-4])
    shown = RunFolder(str(tmp_path)).figure(plots.schedule(rates, 1), "schedule<").data

    told = "The learning rate at each step, by epoch."
    assert f"<figcaption>{told}</figcaption>" in shown
    assert f'alt="{told} The learning rate peaks at 0.001 in epoch 1, and ends at 0.0005"' in shown
    assert shown.startswith('<figure><img src="data:image/png;base64,iVBOR')
    kept = json.loads((tmp_path / "figures.json").read_text())
    assert kept["schedule<.png"]["caption"] == told
    assert kept["schedule<.png"]["text"].startswith(f"{told} The learning rate peaks")


def test_photos_are_described_by_the_first_of_their_names(tmp_path):
    pixels = np.zeros((30, 8, 8, 3), np.uint8)
    figure = photos.gallery(pixels, [f"a <flower> {n}" for n in range(30)])
    html = RunFolder(str(tmp_path)).figure(figure, "gallery").data

    assert (tmp_path / "gallery.jpg").is_file()
    text = json.loads((tmp_path / "figures.json").read_text())["gallery.jpg"]["text"]
    assert text.startswith("Photos, each below the name of its class. a <flower> 0; a <flow")
    assert len(text) == 400
    assert "a &lt;flower&gt; 0" in html
    assert "data:image/jpeg;base64," in html
