"""What a rehearsal finds as the competition: drawn flowers in the sizes that are asked for."""

import re
import sys
import tomllib

import pytest

from petals import registry
from petals.data import layout, writing
from petals.data.source import COMPETITION
from petals.errors import SettingError
from petals.prepare import rehearsal_data


@pytest.fixture
def small(few, monkeypatch):
    """A flower of each class, and a competition whose photos have few pixels."""
    monkeypatch.setattr(rehearsal_data, "SIZES", (8, 9, 10))


def test_the_sizes_that_are_asked_for_are_made_and_no_others(small, tmp_path):
    root = rehearsal_data.fill(tmp_path, [9])
    assert root == tmp_path / "competitions" / COMPETITION
    assert layout.sizes(root) == [9]
    assert not (root / "solution.csv").exists()

    rehearsal_data.fill(tmp_path, [9, 8])
    assert layout.sizes(root) == [8, 9]
    assert writing.shard_paths(root, 8, "val")
    assert not list(root.rglob("manifest.json"))
    rehearsal_data.fill(tmp_path, [0, 5])  # 00_first leaves the size to `quick`
    assert layout.sizes(root) == [8, 9]
    rehearsal_data.fill(tmp_path, [777])  # the network's photos are resized from the largest
    assert layout.sizes(root) == [8, 9, 10]


def test_a_backbone_that_nobody_chose_is_the_default_one(small, tmp_path):
    rehearsal_data.main([str(tmp_path), "--sizes", "0", "--backbones", "auto", ""])
    assert layout.sizes(tmp_path / "competitions" / COMPETITION) == [10]  # the largest there is


def test_files_that_were_put_there_by_hand_stay_as_they_are(small, tmp_path):
    own = tmp_path / "competitions" / COMPETITION / "tfrecords-jpeg-9x9"
    own.mkdir(parents=True)

    rehearsal_data.fill(tmp_path, [8])
    assert layout.sizes(own.parent) == [9]
    answers = tmp_path / "solutions" / f"{COMPETITION}.csv"
    answers.write_text("id,label\n0,1\n")
    rehearsal_data.fill(tmp_path, [8])
    assert layout.sizes(own.parent) == [9]


def test_it_says_how_the_competition_is_scored(tmp_path):
    real = tmp_path / "competitions" / COMPETITION  # put there by hand, or by an older version
    real.mkdir(parents=True)
    assert rehearsal_data.fill(tmp_path) == real
    rules = tmp_path / "solutions" / f"{COMPETITION}.toml"
    assert tomllib.loads(rules.read_text()) == {"metric": "f1_macro", "columns": ["id", "label"]}
    rules.write_text('metric = "accuracy"')
    rehearsal_data.fill(tmp_path)
    assert rules.read_text() == 'metric = "accuracy"'


def test_a_preset_with_random_weights_says_what_puts_the_real_one_there(
    small, tmp_path, monkeypatch
):
    pytest.importorskip("keras_hub")
    sizes = {"num_layers": 1, "hidden_dim": 8, "num_heads": 1, "intermediate_dim": 8}
    for name, value in sizes.items():
        monkeypatch.setitem(registry.PRESETS["dinov2-small"].architecture, name, value)
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "cache"))
    catalogue = tmp_path / "a rehearsal's" / "catalogue"
    (made,) = rehearsal_data.add_models(catalogue, ["dinov2-small", "VGG16"])
    assert rehearsal_data.add_models(catalogue, ["dinov2-small"]) == []

    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(catalogue))  # as a session finds it
    (warning,) = registry.weights_warnings(["VGG16", "dinov2-small"], "auto")
    assert warning.startswith("dinov2-small has random weights, made for a rehearsal")
    download = re.search("`(.*)`", warning)[1]
    assert download == registry.PRESETS["dinov2-small"].download_command
    assert registry.weights_warnings(["dinov2-small"], "none") == []
    assert registry.Facts("dinov2-small").preset.folder == made

    monkeypatch.delenv("KERNELKIT_INPUT_ROOT")
    real = tmp_path / "cache/models/keras/dinov2/keras/dinov2_small/1"
    real.mkdir(parents=True)
    (real / "config.json").write_text("{}")
    watched = (catalogue / ".depends").read_text().splitlines()  # a rehearsal fills it again
    assert str(real / "config.json") in watched
    assert len(watched) == len(set(watched))
    rehearsal_data.add_models(catalogue, ["dinov2-small"])
    assert [path.name for path in made.iterdir()] == ["config.json"]
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(catalogue))
    assert registry.weights_warnings(["dinov2-small"], "auto") == []


def test_what_the_user_can_fix_ends_it_in_one_line(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "cache"))
    catalogue = str(tmp_path / "catalogue")
    with pytest.raises(SystemExit) as ended:
        rehearsal_data.main([catalogue, "--sizes", "8", "--backbones", "dinov2-small"])
    assert ended.value.code == SettingError.exit_code
    (line,) = capsys.readouterr().err.splitlines()
    assert "keras_hub" in line
    assert "pip install keras-hub==" in line
