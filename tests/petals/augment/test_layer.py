import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

from petals.augment.augmentation import augmentation
from petals.augment.layer import augmenting, in_step

KEY = tf.constant([3, 5], tf.int64)


@pytest.fixture
def seen():
    """A model that gives the images back that it sees."""
    images = keras.Input((24, 24, 3), dtype="uint8")
    return keras.Model(images, keras.layers.Lambda(lambda x: x, dtype="uint8")(images))


@pytest.mark.parametrize(("dense", "dtype"), [(False, "mixed_float16"), (True, "mixed_bfloat16")])
def test_the_model_sees_what_augmentation_makes(seen, policy, dtype, dense):
    change = augmentation("strong", "mixup")
    images = np.random.default_rng(0).integers(0, 256, (6, 24, 24, 3)).astype(np.uint8)
    drawn = change.draw(KEY, 6, 24)
    expected = change.apply(tf.constant(images), drawn).numpy().astype(int)
    policy(dtype)
    model = augmenting(seen, change, dense=dense)
    found = model.predict({"image": images, "changes": drawn.numpy()}, verbose=0)
    assert found.dtype == np.uint8
    assert np.abs(found - expected).max() <= 1


def test_it_has_the_models_variables():
    images = keras.Input((24, 24, 3), dtype="uint8")
    flat = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(images))
    model = keras.Model(images, keras.layers.Dense(2)(flat))
    found = augmenting(model, augmentation("light"))
    assert [id(v) for v in found.weights] == [id(v) for v in model.weights]
    model.trainable = False
    assert not found.trainable_weights


def test_where_the_images_are_augmented(seen, monkeypatch):
    assert not in_step(seen)  # TensorFlow on a single CPU
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
    assert in_step(seen)
