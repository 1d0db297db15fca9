"""Both phases on three colours: small, quick, and wrong if anything is."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras
from tuning import fine_tune, untrained

from petals.accelerators import keras_backend
from petals.accelerators.detect import Accelerator
from petals.augment.augmentation import augmentation
from petals.data.folds import divided
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.errors import DataError
from petals.evaluation.metrics import Scores
from petals.evaluation.prediction import predict
from petals.models.build import set_trainable
from petals.training import features
from petals.training import head as heads
from petals.training.callbacks import Training
from petals.training.features import FeatureExtractor
from petals.training.head import train_head
from petals.training.optimization import set_seed, suits_xla


@pytest.fixture(autouse=True)
def seeded(monkeypatch, tmp_path):
    set_seed(0)
    # All tests call their weights "small": features of one must not be found by another.
    monkeypatch.setenv("PETALS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def averages():
    """A model of features that compiles at once: of the colours of four parts."""
    images = keras.Input((32, 32, 3), dtype="uint8")
    parts = keras.layers.AveragePooling2D(16)(keras.layers.Rescaling(1 / 255)(images))
    return keras.Model(images, keras.layers.Dense(4)(keras.layers.Flatten()(parts)))


CPU = Accelerator("cpu", "test")


def extract(model, split, views=1, *, name="small", device=CPU, **options):
    return FeatureExtractor(model, name, device, **options)(split, views)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])  # frozen, and by Keras
def test_features_are_the_models_own_in_order(splits, backend, classifier):
    device = Accelerator("cpu", "test", backend=backend)
    extracted = extract(classifier.features, splits[1], device=device)
    images = sample_of(splits[1], splits[1].count).images
    assert np.allclose(extracted.values[:, 0], classifier.features(images), atol=1e-4)
    labels, ids = splits[1].labels_and_ids()
    assert (extracted.labels == labels).all()
    assert (extracted.ids == ids).all()


def test_the_runs_of_a_sweep_share_their_features_in_the_sessions_output(
    splits, monkeypatch, tmp_path, averages
):
    monkeypatch.setenv("KERNELKIT_KEPT", str(tmp_path / "kept"))
    for number in range(2):  # a session has a cache of its own
        monkeypatch.setenv("PETALS_CACHE", str(tmp_path / f"cache {number}"))
        assert extract(averages, splits[1]).stored == bool(number)
    assert [path.suffix for path in (tmp_path / "kept").rglob("*.*")] == [".npy"]


def test_features_are_stored_by_what_they_depend_on(splits, averages):
    first, again = (extract(averages, splits[1]) for _ in range(2))
    assert (first.stored, again.stored) == (False, True)
    assert (first.values == again.values).all()
    twice = keras.layers.Concatenate()([averages.output, averages.output])  # as of a class token
    other_layers = {"model": keras.Model(averages.input, twice)}
    for change in ({"views": 2}, {"name": "other"}, {"split": splits[2]}, other_layers):
        assert not extract(**{"model": averages, "split": splits[1]} | change).stored
    averages.set_weights([weight + 1 for weight in averages.get_weights()])
    assert not extract(averages, splits[1]).stored


def test_folds_share_the_features_of_their_parts(splits, tmp_path, averages):
    calls = []
    train, val = divided(*splits[:2], 3, 0, tmp_path)
    first = extract(averages, train, 2, progress=lambda *call: calls.append(call))
    assert not first.stored
    assert calls[-1] == ("features", 2 * train.count, 2 * train.count)
    assert calls == sorted(calls)
    assert not extract(averages, val, 2).stored
    train, val = divided(*splits[:2], 3, 1, tmp_path)
    second = extract(averages, train, 2)
    assert second.stored
    assert extract(averages, val, 2).stored
    images = sample_of(train, train.count).images
    assert np.allclose(second.values[:, 0], averages(images), atol=1e-4)


def test_folders_keep_the_images_of_a_part_of_a_split(splits, tmp_path):
    train, _ = divided(*splits[:2], 3, 0, tmp_path)
    part = train.part(1, 2)
    assert part.skip
    ids = [piece.labels_and_ids()[1] for piece in part.by_folder()]
    assert len(ids) == len({Path(path).parent for path in part.paths})
    assert np.concatenate(ids).tolist() == part.labels_and_ids()[1].tolist()


def test_a_damaged_store_is_computed_again(splits, tmp_path, averages):
    first = extract(averages, splits[1])
    (stored,) = tmp_path.glob("cache/features/*.npy")
    stored.write_bytes(stored.read_bytes().replace(b")", b"("))
    again = extract(averages, splits[1])
    assert not again.stored
    assert (again.values == first.values).all()


def test_a_store_that_cannot_be_written_stops_nothing(
    splits, monkeypatch, tmp_path, capsys, averages
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(features.np, "save", full)
    assert extract(averages, splits[1]).values.shape == (21, 1, 4)
    assert "not stored" in capsys.readouterr().out
    assert not list(tmp_path.glob("cache/features/*.npy"))


def test_the_backbone_is_compiled_once_for_all_splits_that_fill_a_batch(
    splits, monkeypatch, averages
):
    compiled = []
    original = features.frozen
    monkeypatch.setattr(features, "frozen", lambda *a: compiled.append(a) or original(*a))
    monkeypatch.setattr(features, "CPU_BATCH", 4)
    extractor = FeatureExtractor(averages, "small", CPU)
    for split in splits:
        extractor(split)
    assert len(compiled) == 1


HEAD = dict.fromkeys(("dropout", "label_smoothing", "weight_decay"), 0.0)
HEAD |= {"schedule": "cosine", "seed": 0, "fine_tune": "none", "learning_rate": 0.05}


@pytest.fixture(autouse=True)
def fewer_epochs(monkeypatch):
    monkeypatch.setattr(heads, "HEAD_EPOCHS", 15)


def test_the_head_learns_and_is_put_into_the_model(splits):
    model = untrained()
    train, val = (extract(model.features, split) for split in splits[:2])
    watch = train_head(model, train, val, HEAD, Training())
    assert watch.best_f1 > 0.9
    probabilities = predict(model.model, splits[1], 8)
    scores = Scores.of(splits[1].labels_and_ids()[0], probabilities)
    assert np.isclose(scores.macro_f1, watch.best_f1)
    assert [row["epoch"] for row in watch.training.history] == list(range(1, 16))
    assert {row["images_per_second"] for row in watch.training.history} == {None}  # features


def tune(model, splits, change, epochs=2, *, rates=None, on_device=False, **training):
    set_trainable(model, "all", freeze_batch_norm=False)
    given = {"rates": rates, "change": change, "on_device": on_device}
    training = Training(**training)
    return fine_tune(
        model, splits, epochs, training, **given, label_smoothing=0.1, weight_decay=1e-3
    )


@pytest.mark.long
def test_fine_tuning_learns_and_the_model_ends_with_the_weights_of_its_best_epoch(splits):
    model = untrained()
    rates = np.concatenate([np.full(7 * 5, 3e-3), np.full(5, 10.0)]).astype(np.float32)
    watch = tune(model, splits, augmentation("flip"), epochs=8, rates=rates)
    assert watch.best_f1 > 0.9
    assert watch.training.history[-1]["val_macro_f1"] < watch.best_f1  # the last epoch did harm
    labels, _ = splits[1].labels_and_ids()
    scores = Scores.of(labels, predict(model.model, splits[1], 10))
    assert scores.macro_f1 == pytest.approx(watch.best_f1)


@pytest.mark.long
@pytest.mark.usefixtures("narrow")
def test_a_deadline_stops_at_the_next_step(splits, capsys):
    watch = tune(untrained(), splits, augmentation("flip"), epochs=50, deadline=0.0)
    assert len(watch.training.history) == 1
    assert "time limit" in capsys.readouterr().out


@pytest.mark.long
def test_augmented_in_the_step_or_by_the_host_it_trains_the_same(splits):
    histories = []
    for on_device in (False, True):
        set_seed(5)
        watch = tune(untrained(), splits, augmentation("light", "mixup"), on_device=on_device)
        histories.append(watch.training.history)
    for host, device in zip(*histories, strict=True):
        assert host["loss"] == pytest.approx(device["loss"], rel=1e-3)
        assert host["val_loss"] == pytest.approx(device["val_loss"], rel=1e-2)


def test_xla_leaves_the_step_that_devices_share_alone(monkeypatch, averages):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["a", "b"])
    assert suits_xla(averages)
    monkeypatch.setattr(keras_backend, "replicas", lambda model: 2)
    assert not suits_xla(averages)


@pytest.mark.usefixtures("narrow")
def test_damage_met_while_fine_tuning_is_named(copied, splits):
    train = Split.find(str(copied), 32, "train")
    path = Path(train.paths[2])
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match=path.name):
        tune(untrained(), (train, splits[1]), None, epochs=3)


@pytest.mark.parametrize(
    ("kind", "replicas", "size", "images"),
    [
        ("tpu", 8, 224, 1024),
        ("tpu", 8, 518, 256),  # over 1,024 for DINOv2-base the compiler crashed
        ("gpu", 1, 512, 32),
        ("cpu", 1, 518, 32),
    ],
)
def test_fewer_large_photos_go_through_a_backbone_at_once(kind, replicas, size, images):
    assert features.batch_size(Accelerator(kind, "", replicas), size) == images
