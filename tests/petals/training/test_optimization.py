import numpy as np
import pytest
from tensorflow import keras

from petals.accelerators.detect import Accelerator
from petals.training import optimization
from petals.training.optimization import learning_rates, steps_of_epoch


def test_ramp_has_the_tutorials_figures():
    rates = learning_rates("ramp", 20, 1, replicas=8)
    assert np.isclose(rates.max(), 5e-5 * 8)
    assert rates.argmax() == 4  # after five epochs
    assert (np.diff(rates[:5]) > 0).all()
    floor = 1e-5 * 8
    assert np.allclose((rates[6:] - floor) / (rates[5:-1] - floor), 0.8, atol=1e-4)


def test_cosine_warms_up_and_ends_at_nothing_and_exponential_falls_a_hundredfold():
    rates = learning_rates("cosine", 10, 100, learning_rate=0.1)
    assert np.isclose(rates.max(), 0.1, rtol=1e-3)
    assert rates[0] < 0.01
    assert rates[-1] < 1e-5
    rates = learning_rates("exponential", 7, 50, learning_rate=0.005)
    assert rates[0] <= 0.005
    assert np.isclose(rates[-1], 0.005 / 100)


@pytest.mark.parametrize("name", optimization.SCHEDULES)
@pytest.mark.parametrize("epochs", [1, 2, 30])
def test_every_schedule_is_positive_and_finite(name, epochs):
    rates = learning_rates(name, epochs, 7)
    assert rates.shape == (epochs * 7,)
    assert (np.isfinite(rates) & (rates >= 0)).all()
    # Three times as much lost .12 of macro F1 in the first epoch.
    assert 0 < rates.max() <= 1.01e-4
    assert np.allclose(learning_rates(name, epochs, 7, replicas=4), 4 * rates)


def test_keras_reads_the_table_and_keeps_the_last():
    table = optimization.RateTable([0.1, 0.2, 0.3])
    assert [round(float(table(step)), 6) for step in (0, 1, 2, 9)] == [0.1, 0.2, 0.3, 0.3]
    restored = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(table))
    assert restored.values == table.values


ON_JAX = Accelerator("gpu", "a GPU", backend="jax")


@pytest.mark.parametrize(
    ("steps", "epoch"),
    [(0, (1, 1)), (63, (63, 1)), (65, (64, 2)), (131, (128, 4)), (797, (792, 8))],
)
def test_a_gpu_on_jax_takes_several_steps_of_a_long_epoch_in_one_call(steps, epoch):
    assert steps_of_epoch(16 * steps + 7, 16, ON_JAX) == epoch


@pytest.mark.parametrize(
    "device",
    [
        Accelerator("tpu", "v5e", 8, backend="jax"),
        Accelerator("gpu", "a T4"),
        Accelerator("cpu", "a CPU", backend="jax"),
        Accelerator("gpu", "CPU devices", backend="jax", rehearsal=True),
    ],
    ids=["TPU", "TensorFlow", "CPU", "rehearsal"],
)
def test_other_devices_take_one_step_in_a_call(device):
    assert steps_of_epoch(12753, 64, device) == (199, 1)
