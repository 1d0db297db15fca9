import pytest
from tensorflow import keras

from petals.accelerators.detect import Accelerator
from petals.training import optimization


@pytest.fixture
def cpu(monkeypatch):
    monkeypatch.setattr(optimization, "supports_bfloat16", lambda: True)
    yield Accelerator("cpu", "a CPU")
    keras.mixed_precision.set_global_policy("float32")


def measured(monkeypatch, ratio: float) -> list:
    measurements = []
    monkeypatch.setattr(optimization, "speedup", lambda *of: measurements.append(of) or ratio)
    return measurements


def policy() -> str:
    return keras.mixed_precision.global_policy().name


@pytest.mark.parametrize(
    ("ratio", "dtype"), [(2.3, "mixed_bfloat16"), (1.1, "float32"), (0.6, "float32")]
)
def test_the_faster_dtype_is_chosen_and_remembered(cpu, monkeypatch, ratio, dtype):
    measurements, message = measured(monkeypatch, ratio), []
    size = int(100 * ratio)
    for _ in range(2):
        keras.mixed_precision.set_global_policy("float32")
        cpu.dtype = "float32"
        assert optimization.choose_dtype(cpu, "VGG16", size, message.append) == dtype
        assert (cpu.dtype, policy()) == (dtype, dtype)
    assert measurements == [("VGG16", size)]
    assert f"{ratio:.2f} times as fast" in message[0]


@pytest.mark.parametrize(
    "device", [Accelerator("gpu", "a GPU", dtype="mixed_float16"), Accelerator("cpu", "old")]
)
def test_elsewhere_nothing_is_measured(monkeypatch, device):
    measurements = measured(monkeypatch, 9.0)
    monkeypatch.setattr(optimization, "supports_bfloat16", lambda: False)
    before = device.dtype
    assert optimization.choose_dtype(device, "VGG16", 32) == before
    assert (measurements, policy()) == ([], "float32")


def test_the_measurement_leaves_the_policy_alone(monkeypatch):
    monkeypatch.setattr(optimization, "SECONDS", 0.2)
    assert 0.01 < optimization.speedup("SmallNet", 32) < 100
    assert policy() == "float32"
