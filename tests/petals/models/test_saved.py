import h5py
import numpy as np
import pytest
from tensorflow import keras

from petals.errors import WeightsError
from petals.models import build as build_module
from petals.models import saved as saved_module


def build(name="SmallNet", classes=3):
    return build_module.build(name, 32, classes, weights="none")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    classifier = build()
    path = tmp_path_factory.mktemp("trained") / "classifier.h5"
    saved_module.save(classifier, path)
    return path, classifier.model.get_weights()


def test_a_classifier_comes_back_whatever_numbers_keras_gave_its_layers(saved):
    other = build()  # its conv2d is conv2d_5 or so: Keras counts on
    saved_module.load(other, saved[0])
    for held, loaded in zip(saved[1], other.model.get_weights(), strict=True):
        assert (held == loaded).all()


def test_its_backbone_serves_other_classes(saved):
    classifier = build_module.build("SmallNet", 64, 7, weights=str(saved[0]))
    pairs = zip(saved[1], classifier.backbone.get_weights(), strict=False)
    assert all((held == loaded).all() for held, loaded in pairs)


def assert_refused(classifier, path, message):
    """The file is not loaded, and the model stays as it was."""
    before = classifier.model.get_weights()
    with pytest.raises(WeightsError, match=message):
        saved_module.load(classifier, path)
    after = classifier.model.get_weights()
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("name", "classes", "message"),
    [
        ("MobileNet-0.25", 3, "is a trained SmallNet, not MobileNet-0.25"),
        ("SmallNet", 5, r"head/0 has the shape \(256, 3\), and \(256, 5\) in SmallNet"),
    ],
)
def test_another_model_is_refused(saved, name, classes, message):
    assert_refused(build(name, classes), saved[0], message)


def changed(saved, tmp_path, **attributes):
    path = tmp_path / "changed.h5"
    path.write_bytes(saved[0].read_bytes())
    with h5py.File(path, "a") as file:
        file.attrs.update(attributes)
    return path


@pytest.mark.parametrize("attributes", [{"version": 2}, {"format": "other"}])
def test_another_version_and_a_file_of_something_else_are_refused(saved, tmp_path, attributes):
    path = changed(saved, tmp_path, **attributes)
    assert_refused(build(), path, "is no model of this version of petals")
    assert_refused(build(), tmp_path / "nothing.h5", "no weights file at")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_file(saved, tmp_path, share):
    data = saved[0].read_bytes()
    path = tmp_path / "cut.h5"
    path.write_bytes(data[: int(share * len(data))])
    assert_refused(build(), path, r"cut\.h5 is damaged")
    with pytest.raises(WeightsError, match=r"cut\.h5"):
        build_module.build("SmallNet", 32, 3, weights=str(path))


def test_one_layer_missing_leaves_the_model_as_it_was(saved, tmp_path):
    path = changed(saved, tmp_path)
    with h5py.File(path, "a") as file:
        del file["backbone/conv2d#3/0"]
    assert_refused(build(), path, "does not hold backbone/conv2d#3/0")


def test_under_mixed_precision_the_file_is_the_same(saved):
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        classifier = build()
        saved_module.load(classifier, saved[0])
        assert np.array_equal(classifier.backbone.get_weights()[0], saved[1][0])
    finally:
        keras.mixed_precision.set_global_policy("float32")
