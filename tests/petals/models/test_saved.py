import h5py
import numpy as np
import pytest
from tuning import untrained

from petals.errors import WeightsError
from petals.models.build import build
from petals.models.restore import load, save
from petals.models.saved import read_card


@pytest.fixture(scope="module")
def saved(tmp_path_factory, classifier):
    path = tmp_path_factory.mktemp("trained") / "classifier.h5"
    save(classifier, path)
    return path, classifier.model.get_weights()


@pytest.fixture(scope="module")
def other():
    """Its conv2d is conv2d_5 or so: Keras counts on."""
    return untrained()


def test_a_classifier_comes_back_whatever_numbers_keras_gave_its_layers(saved, other):
    load(other, saved[0])
    for held, loaded in zip(saved[1], other.model.get_weights(), strict=True):
        assert (held == loaded).all()


def test_its_backbone_serves_other_classes(saved):
    classifier = build("SmallNet", 64, 7, weights=str(saved[0]))
    pairs = zip(saved[1], classifier.backbone.get_weights(), strict=False)
    assert all((held == loaded).all() for held, loaded in pairs)


def assert_refused(classifier, path, message):
    """The file is not loaded, and the model stays as it was."""
    classifier.model.set_weights([weights + 1 for weights in classifier.model.get_weights()])
    before = classifier.model.get_weights()
    with pytest.raises(WeightsError, match=message):
        load(classifier, path)
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
    assert_refused(build(name, 32, classes, weights="none"), saved[0], message)


@pytest.fixture
def changed(saved, tmp_path):
    path = tmp_path / "changed.h5"
    path.write_bytes(saved[0].read_bytes())
    return path


@pytest.mark.parametrize("attributes", [{"version": 2}, {"format": "other"}])
def test_another_version_and_a_file_of_something_else_are_refused(changed, other, attributes):
    with h5py.File(changed, "a") as file:
        file.attrs.update(attributes)
    assert_refused(other, changed, "is not a model of this version of petals")
    assert_refused(other, changed.with_name("nothing.h5"), "no weights file at")


def test_a_damaged_card_a_missing_layer_and_a_truncated_file_are_named(changed, other):
    with h5py.File(changed, "a") as file:
        file.create_dataset("card", data=b"\xdb", dtype=h5py.string_dtype())
        del file["backbone/conv2d#3/0"]
    with pytest.raises(WeightsError, match=r"changed\.h5 is damaged"):
        read_card(changed)
    assert_refused(other, changed, r"changed\.h5 is damaged")
    changed.write_bytes(changed.read_bytes()[:-99])
    with pytest.raises(WeightsError, match=r"h5 is damaged, .*: make or download it again"):
        build("SmallNet", 32, 3, weights=str(changed))


def test_under_mixed_precision_the_file_is_the_same(saved, policy):
    policy("mixed_bfloat16")
    classifier = untrained()
    load(classifier, saved[0])
    assert np.array_equal(classifier.backbone.get_weights()[0], saved[1][0])
