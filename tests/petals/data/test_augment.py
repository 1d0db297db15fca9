import numpy as np
import pytest
import tensorflow as tf

from petals.data import augment
from petals.errors import SettingError

KEY = tf.constant([3, 5], tf.int64)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    soft = rng.integers(0, 255, (16, 6, 6, 3)).astype(np.float32)
    return tf.cast(tf.image.resize(soft, (48, 48)), tf.uint8)


@pytest.mark.parametrize("level", ["flip", "light", "strong"])
def test_levels_keep_shape_and_dtype_and_change_most_images(images, level):
    out = augment.augmentation(level)(images, KEY)
    assert (out.dtype, out.shape) == (tf.uint8, images.shape)
    changed = np.any(out.numpy() != images.numpy(), axis=(1, 2, 3)).mean()
    assert changed > (0.2 if level == "flip" else 0.9)


def test_the_key_decides(images):
    change = augment.augmentation("strong")
    assert (change(images, KEY).numpy() == change(images, KEY).numpy()).all()
    assert (change(images, KEY).numpy() != change(images, KEY + 1).numpy()).any()


def test_none_is_nothing():
    assert augment.augmentation("none") is None
    assert augment.mixing("none") is None


def test_unknown_names_are_refused():
    with pytest.raises(SettingError, match="none, flip, light, strong"):
        augment.augmentation("lots")
    with pytest.raises(SettingError, match="none, mixup, cutmix"):
        augment.mixing("cut")


def test_flip_mirrors(images):
    out = augment.flip(images, KEY).numpy()
    as_it_was = (out == images.numpy()).all(axis=(1, 2, 3))
    mirrored = (out == images.numpy()[:, :, ::-1]).all(axis=(1, 2, 3))
    assert (as_it_was ^ mirrored).all()
    assert as_it_was.any()
    assert mirrored.any()


def test_moving_by_nothing_is_nothing(images):
    still = augment.Strength(shift=1e-9)
    assert (augment.move(images, KEY, still).numpy() == images.numpy()).mean() > 0.99


def test_rotation_turns_about_the_centre():
    spot = np.zeros((8, 49, 49, 3), np.uint8)
    spot[:, 23:26, 23:26] = 255
    out = augment.move(tf.constant(spot), KEY, augment.Strength(rotation=45)).numpy()
    assert (out[:, 24, 24] > 200).all()


def test_erasing_blanks_a_rectangle(images):
    out = augment.erase(images, KEY, 1.0).numpy()
    blank = (out == 128).all(axis=3) & (images.numpy() != 128).any(axis=3)
    shares = blank.mean(axis=(1, 2))
    assert (shares > 0.005).all()
    assert (shares < 0.3).all()
    for mask in blank:
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        inside = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        assert inside.mean() > 0.95


@pytest.mark.parametrize("mix", [augment.mixup, augment.cutmix])
def test_labels_are_mixed_as_the_pixels_are(mix):
    values = np.arange(0, 256, 16, dtype=np.uint8)
    flat = tf.constant(np.broadcast_to(values[:, None, None, None], (16, 40, 40, 3)))
    images, labels = mix(flat, tf.eye(16), KEY)
    labels = labels.numpy()
    assert np.allclose(labels.sum(axis=1), 1, atol=1e-6)
    expected = labels @ values.astype(np.float64)
    assert np.allclose(images.numpy().mean(axis=(1, 2, 3)), expected, atol=1.0)
    assert (np.count_nonzero(labels > 0.01, axis=1) == 2).any()
