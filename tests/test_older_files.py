"""What users had at commit b6ef335 keeps working: tests/fixtures/b6ef335 says how it was made."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
OLDER = Path(__file__).parent / "fixtures" / "b6ef335"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A copy of the older files as the working directory, with its caches in place."""
    desk = shutil.copytree(OLDER, tmp_path / "desk")
    for packed in desk.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    monkeypatch.chdir(desk)
    monkeypatch.setenv("PETALS_CACHE", str(desk / "cache"))
    monkeypatch.setenv("JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    return desk


def tool(name, *arguments):
    command = [sys.executable, str(ROOT / "tools" / f"{name}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=os.environ)


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def numbered(n, shape):
    """The values that make.py gave to the n-th variable."""
    return (n + (np.arange(int(np.prod(shape))) % 8) / 8).reshape(shape)


def test_the_ledger_is_listed(desk):
    listed = tool("push_kernel", "--list")

    assert listed.returncode == 0, listed.stderr
    complete, failed, left = listed.stdout.splitlines()[1:]
    assert "tester/count-petals/1" in complete
    assert " complete " in complete
    assert complete.endswith("petals=8")
    assert "tester/count-petals/2" in failed
    assert " failed " in failed
    assert "tester/count-later/1" in left
    assert " queued " in left


@pytest.mark.long
@pytest.mark.parametrize("begun", [False, True], ids=["not-fetched", "half-fetched"])
def test_a_push_that_was_left_is_taken_up(desk, tmp_path, begun):
    from kernelkit.local_kaggle.server import LocalKaggle
    from kernelkit.push.command import push_kernel

    home = desk / "runs" / "rehearsal-count-later-v1"
    if begun:
        home.mkdir()
        marker = {"kernel": "tester/count-later", "version": 1}
        (home / "push.json").write_text(json.dumps(marker) + "\n")
        (home / "log.txt").write_text("counting to 5\n")
    with LocalKaggle(tmp_path / "kaggle") as server, server.attach():
        push_kernel(metadata=desk / "later.json", runs=tmp_path / "other", wait=False)
        assert push_kernel(resume="last", runs=desk / "runs") == home

    assert (home / "count.txt").read_text() == "5"
    assert metrics(home)["macro_f1"] == 0.5
    assert " complete " in tool("push_kernel", "--list").stdout.splitlines()[-1]


@pytest.mark.long
def test_run_folders_of_all_kinds_have_their_place_on_the_page(desk):
    done = tool("report", "runs", "--index")

    assert done.returncode == 0, done.stderr
    page = (desk / "runs" / "index.html").read_text()
    folders = ["home", "rehearsal-count-petals-v1", "rehearsal-count-petals-v2"]
    folders += [f"tiny/{path.parent.name}" for path in (desk / "runs/tiny").glob("*/run.ipynb")]
    assert len(folders) == 6
    for folder in folders:
        assert f'"report": "{folder}/report.html"' in page
    assert "withered" in (desk / "runs/rehearsal-count-petals-v2/report.html").read_text()


def test_runs_are_compared(desk):
    from petals.comparison import runs

    (run,), skipped = runs.read("runs/*")

    assert run.name == "home"
    assert run.macro_f1 == pytest.approx(metrics(desk / "runs/home")["macro_f1"])
    assert len(run.history) == 3
    assert run.test_predictions()[1].shape == (6, 3)
    assert [line.split(":")[0] for line in skipped] == ["cut", "rehearsal-count-petals-v1"]


@pytest.mark.long
def test_a_sweep_goes_on_with_what_is_left(desk):
    done = {folder.parent.name for folder in (desk / "runs/tiny").glob("*/metrics.json")}
    kept = {name: (desk / "runs/tiny" / name / "run.ipynb").stat().st_mtime_ns for name in done}
    assert len(done) == 2

    swept = tool("sweep", "tiny.yaml", "--no-report")

    assert swept.returncode == 6, swept.stderr  # a run that had failed is not run again
    assert "3 of 4 runs done" in swept.stdout
    assert "best macro_f1 0.4000  a=4" in swept.stdout
    for name, when in kept.items():
        assert (desk / "runs/tiny" / name / "run.ipynb").stat().st_mtime_ns == when
    page = (desk / "runs/tiny/index.html").read_text()
    assert [name for name in done if name not in page] == []
    assert "withered" in page


def test_a_classifier_is_loaded_layer_by_layer(desk):
    from petals.models import saved
    from petals.models.build import build

    classifier = build("SmallNet", 32, 3, weights="none")
    saved.load(classifier, "classifier.h5")

    weights = classifier.model.get_weights()
    assert len(weights) == 5 * 5 + 2
    for n, values in enumerate(weights):
        assert np.array_equal(values, numbered(n, values.shape))


def test_a_checkpoint_of_fine_tuning_is_restored(desk, capsys):
    from petals.models.build import build, set_trainable
    from petals.training import state
    from petals.training.checkpoints import Checkpoints
    from petals.training.compile import compile_model

    settings = json.loads(next((desk / "runs/cut").glob("checkpoints/*/settings.json")).read_text())
    kept = Checkpoints(desk / "runs/cut", settings)

    assert "resuming from" in capsys.readouterr().out
    assert (kept.phase, kept.found.step) == ("fine-tune", 3)
    assert [row["epoch"] for row in kept.history] == [1]
    classifier = build("SmallNet", 32, 3, weights="none", dropout=0.3)
    set_trainable(classifier, "all")
    compile_model(classifier.model, np.full(4, 1e-3, np.float32))
    best = state.restore(classifier.model, kept.found.arrays)
    model = classifier.model
    variables = [*model.weights, *model.optimizer.variables]
    floats = [v.numpy() for v in variables if np.issubdtype(v.numpy().dtype, np.floating)]
    assert len(floats) > len(model.weights)  # the optimizer has its own
    for n, values in enumerate(floats):
        assert np.array_equal(values, numbered(n, values.shape))
    assert [values.shape for values in best] == [w.shape for w in model.get_weights()]


def test_a_parameter_that_came_later_leaves_the_older_checkpoint_in_place(desk):
    from kernelkit.notebooks import document, parameters
    from petals.training.checkpoints import Checkpoints

    older = json.loads(next((desk / "runs/cut").glob("checkpoints/*/settings.json")).read_text())
    cell = document.parameters_cell(document.read(ROOT / "notebooks/02_train.py"))
    today = {name: one.default for name, one in parameters.declared(cell.source).items()}
    today |= {"head": "gradient", "features": "last"}  # what `resolve` makes of their "auto"

    assert set(today) - set(older)
    assert Checkpoints(desk / "runs/cut", today | older).found


def test_stored_features_are_found(desk):
    from petals.data.splits import Split
    from petals.models import weights
    from petals.models.backbones import find_backbone
    from petals.models.build import build
    from petals.training import features

    classifier = build("SmallNet", 32, 3, weights="classifier.h5")
    key = weights.describe(find_backbone("SmallNet"), 32, "classifier.h5")
    for part, count in {"train": 24, "val": 9, "test": 6}.items():
        split = Split.find("data", 32, part)
        found = features.extract(classifier.features, split, key=key)
        assert found.stored
        assert found.values.shape == (count, 1, 256)


def test_drawn_flowers_are_not_drawn_again(desk):
    from petals.data.source import embedded

    drawn = desk / "cache" / "embedded" / "flowers-v1-32px-24-5-3-seed0"
    drawn.mkdir(parents=True)
    assert Path(embedded(32).root) == drawn


@pytest.mark.long
@pytest.mark.parametrize("phase", ["head", "fine-tune"])
def test_the_same_command_goes_on_with_a_run_that_was_cut_off(desk, phase):
    folder = desk / "runs" / "cut"
    if phase == "head":
        next(folder.glob("checkpoints/*/1-*.npz")).unlink()
    settings = json.loads(next(folder.glob("checkpoints/*/settings.json")).read_text())
    asked = (
        "data",
        "image_size",
        "backbone",
        "weights",
        "head_epochs",
        "batch_size",
        "dtype",
        "fine_tune",
        "epochs",
        "augment",
    )
    given = [f"-p{name}={settings[name]}" for name in asked]

    done = tool(
        "run_notebook",
        str(ROOT / "notebooks/02_train.py"),
        "--output",
        str(folder),
        "--no-report",
        *given,
    )

    assert done.returncode == 0, done.stderr
    assert f"checkpoints/63af47fca455/{'0' if phase == 'head' else '1'}-" in done.stdout
    assert metrics(folder)["resumed"] == 1
    assert not (folder / "checkpoints").exists()
