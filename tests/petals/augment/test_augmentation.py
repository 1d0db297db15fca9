import numpy as np
import pytest
import tensorflow as tf

from petals.augment import resampling
from petals.augment.augmentation import GREY, augmentation
from petals.augment.draws import LEVELS, Draw, Strength, by_name
from petals.errors import SettingError

KEY = tf.constant([3, 5], tf.int64)
NAMES = [("flip", "none"), ("crop", "mixup"), ("strong", "cutmix")]


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    soft = rng.integers(0, 255, (16, 6, 6, 3)).astype(np.float32)
    return tf.cast(tf.image.resize(soft, (48, 48)), tf.uint8)


def column(drawn, name):
    return by_name(drawn.numpy())[name]


@pytest.fixture
def changed(monkeypatch):
    """Changes pictures by a strength; the pictures, and what was drawn for them."""

    def changed(images, strength, **settings):
        monkeypatch.setitem(LEVELS, "test", strength)
        change = augmentation("test")
        drawn = change.draw(KEY, len(images), images.shape[1])
        return change.apply(tf.constant(images), drawn, **settings).numpy(), drawn

    return changed


def assert_alike(found, expected):
    away = np.abs(found.astype(int) - expected)
    assert away.max() <= 1
    assert (away > 0).mean() < 1e-3


@pytest.mark.parametrize("level", ["crop", "light", "strong"])
def test_the_key_decides_how_most_images_change(images, level):
    change = augmentation(level)
    drawn, again, other = (change.draw(key, 16, 48).numpy() for key in (KEY, KEY, KEY + 1))
    assert (drawn == again).all()
    assert (drawn != other).any()
    out = change.apply(images, drawn)
    assert (out.dtype, out.shape) == (tf.uint8, images.shape)
    assert np.any(out.numpy() != images.numpy(), axis=(1, 2, 3)).mean() > 0.9


@pytest.mark.parametrize("names", NAMES)
def test_each_way_gives_the_same_pictures(images, names):
    change = augmentation(*names)
    drawn = change.draw(KEY, 16, 48)
    expected = change.apply(images, drawn).numpy().astype(int)
    dense, compiled = change.apply(images, drawn, dense=True), change.compiled()(images, drawn)
    for other in (dense, compiled):
        assert_alike(other.numpy(), expected)
    coarse = change.apply(images, drawn, dense=True, dtype="bfloat16").numpy()
    assert np.abs(coarse - expected).mean() < 1.5
    assert np.abs(coarse - expected).max() < 12


def test_none_is_nothing_and_unknown_names_are_refused():
    assert augmentation("none") is None
    with pytest.raises(SettingError, match="none, flip, crop, light, strong"):
        augmentation("lots")
    with pytest.raises(SettingError, match="none, mixup, cutmix"):
        augmentation("none", "cut")


def test_flip_mirrors_and_moving_by_nothing_does_no_more(images, changed):
    out, drawn = changed(images, Strength())
    flip = column(drawn, "flip")
    assert (out == np.where(flip[:, None, None, None] > 0, images[:, :, ::-1], images)).all()
    assert 0 < flip.sum() < 16
    for dense in (False, True):
        still = Strength(shift=1e-9, rotation=1e-9)
        moved, _ = changed(images, still, dense=dense)
        assert (moved == out).mean() > 0.99


def test_rotation_turns_by_the_angle_about_the_centre(changed, monkeypatch):
    bar = np.zeros((8, 65, 65, 3), np.uint8)
    bar[:, 31:34, 4:61] = 255
    monkeypatch.setattr(Draw, "uniform", lambda draw, low, high: tf.fill([draw.count], float(high)))
    out, _ = changed(bar, Strength(rotation=20))
    y, x = np.nonzero(out[0, :, :, 0] > 100)
    slope = np.polyfit(x, y, 1)[0]
    assert abs(slope) == pytest.approx(np.tan(np.radians(20)), abs=0.03)
    assert (x.mean(), y.mean()) == pytest.approx((32, 32), abs=0.5)


def test_a_crop_is_a_part_of_the_picture_at_full_size(changed):
    ramp = np.broadcast_to(np.arange(64, dtype=np.uint8) * 4, (32, 64, 64))
    ramp = np.stack([ramp, ramp.transpose(0, 2, 1), ramp], axis=3)  # red along x, green along y
    out, _ = changed(ramp, Strength(crop=0.6))
    wide, high, _ = np.ptp(out.astype(float), axis=(1, 2)).T / 252
    assert (wide * high > 0.55).all()
    assert (wide * high < 0.85).any()
    assert np.std(wide / high) > 0.05
    assert np.std(out[:, 32, 32, 0].astype(float)) > 2  # not always the middle


@pytest.mark.parametrize("level", ["crop", "light", "strong"])
def test_no_draw_shifts_further_than_was_allowed_for(level):
    size, half = 96, 47.5
    drawn = augmentation(level).draw(KEY, 20_000, size)
    for axis, bound in zip("xy", LEVELS[level].shifted(size), strict=True):
        shift = np.abs(column(drawn, f"slope_{axis}")) * half
        assert shift.max() <= max(0, bound - 0.25)
        assert bound == 0 or shift.max() > 0.8 * bound
        far = np.abs(column(drawn, f"scale_{axis}")) * (half + shift)
        far += np.abs(column(drawn, f"centre_{axis}"))
        assert far.max() < 1.5 * size  # one reflection at the edge leads back into the picture


@pytest.mark.parametrize("values", [1, 4, 5, 366])
def test_steps_add_up_to_every_shift(values):
    left, steps = np.arange(values), resampling._steps(values)
    for step, options in steps:
        assert (left // step).max() < options <= resampling.RADIX
        left = left % step
    assert (left == 0).all()
    assert values - 1 <= resampling._reach(steps) <= values + 6 * len(steps)


def test_lines_are_shifted_by_the_nearest_quarter():
    four_a_pixel = np.arange(64, dtype=np.uint8)[:, None] * 4
    ramp = np.broadcast_to(four_a_pixel, (2, 64, 64, 3))
    slope = tf.constant([0.1, -0.1])
    for dense in (False, True):
        along_rows = resampling.Pass(resampling.ROWS, 5, dense, "float32")
        out = along_rows.move(tf.constant(ramp), slope, tf.ones(2), tf.zeros(2))
        moved = out.numpy()[:, :, 32, 0].astype(float) - ramp[:, :, 32, 0]
        exact = 4 * slope.numpy()[:, None] * (np.arange(64) - 31.5)
        assert np.abs(moved - exact).max() <= 0.5 + 1e-3


def test_erasing_blanks_a_rectangle(images, changed):
    plain, _ = changed(images, Strength(colour=1e-9))
    out, drawn = changed(images, Strength(colour=1e-9, erasing=1.0))
    for number, (one, other) in enumerate(zip(plain, out, strict=True)):
        top, left, bottom, right = (int(column(drawn, f"erase_{k}")[number]) for k in range(4))
        assert (other[top:bottom, left:right] == GREY).all()
        assert 0.005 < (bottom - top) * (right - left) / 48**2 < 0.3
        other[top:bottom, left:right] = one[top:bottom, left:right]
        assert (one == other).all()


@pytest.mark.parametrize("mix", ["mixup", "cutmix"])
def test_labels_are_mixed_as_the_pixels_are(mix):
    values = np.arange(0, 256, 16, dtype=np.uint8)
    flat = tf.constant(np.broadcast_to(values[:, None, None, None], (16, 40, 40, 3)))
    change = augmentation("none", mix)
    drawn = change.draw(KEY, 16, 40)
    images, labels = change.apply(flat, drawn), change.labels(tf.eye(16), drawn, 40).numpy()
    assert np.allclose(labels.sum(axis=1), 1, atol=1e-6)
    expected = labels @ values.astype(np.float64)
    assert np.allclose(images.numpy().mean(axis=(1, 2, 3)), expected, atol=1.0)
    assert (np.count_nonzero(labels > 0.01, axis=1) == 2).any()
