"""On JAX the first weights come from NumPy, and are distributed as Keras says."""

import pytest

pytest.importorskip("jax")

CODE = """
import numpy as np
from petals.accelerators import keras_backend
keras_backend.choose(keras_backend.JAX)
import jax
from tensorflow import keras

programs = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **_: programs.append(name) if "backend_compile" in name else None
)
keras.utils.set_random_seed(1)
layers = [keras.layers.Dense(7 + n, kernel_initializer="he_normal") for n in range(20)]
for n, layer in enumerate(layers):
    layer.build((None, 400 + n))
print(len(programs))

initializers = keras.initializers
shape = (3, 3, 50, 100)
fans = 9 * 50, 9 * 100
normal = np.asarray(initializers.VarianceScaling(2.0, "fan_out")(shape, "float32"))
uniform = np.asarray(initializers.GlorotUniform()(shape))
assert normal.dtype == uniform.dtype == np.float32
sigma = (2 / fans[1]) ** 0.5
assert abs(normal.std() / sigma - 1) < 0.02, normal.std() / sigma
assert 1.9 < np.abs(normal).max() * 0.87962566 / sigma <= 2.0001
assert abs(np.abs(uniform).max() / (6 / sum(fans)) ** 0.5 - 1) < 0.001
assert abs(np.asarray(initializers.RandomNormal(1.0, 0.1)(shape)).mean() - 1) < 0.01
zeros, ones = initializers.Zeros()((2,), "int32"), initializers.Ones()((2,), "bfloat16")
assert (zeros.dtype, ones.dtype) == ("int32", "bfloat16")
assert list(zeros) + list(ones) == [0, 0, 1, 1]

same = initializers.GlorotUniform(seed=5)
assert np.array_equal(same(shape), same(shape))
first, second = (initializers.GlorotUniform()(shape) for _ in range(2))
assert not np.array_equal(first, second)
drawing = keras.random.SeedGenerator(3)
first, second = (initializers.GlorotUniform(seed=drawing)(shape) for _ in range(2))
assert not np.array_equal(first, second)
"""


@pytest.mark.long
def test_a_model_is_built_without_a_program_for_each_of_its_shapes(python):
    assert python(CODE, JAX_PLATFORMS="cpu").split() == ["0"]
