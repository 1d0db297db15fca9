import os
import subprocess
import sys

import pytest

from petals import accelerator
from petals.errors import AcceleratorError, SettingError


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    """In a process of its own, as the backend is chosen once a process."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS_", "KAGGLE_", "TPU_"))}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**clean, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_auto_at_home_is_a_cpu_and_says_what_was_tried():
    found = accelerator.detect("auto")
    assert (found.kind, found.replicas, found.backend, found.dtype) == (
        "cpu", 1, "tensorflow", "float32",
    )  # fmt: skip
    text = str(found)
    assert "no sign of one" in text
    assert "GPU through TensorFlow   0 devices" in text
    with found.scope():
        pass


@pytest.mark.parametrize("request_", ["gpu", "tpu"])
def test_what_was_asked_for_and_is_not_there_is_an_error(request_):
    with pytest.raises(AcceleratorError, match=f"a {request_.upper()} was asked for and none"):
        accelerator.detect(request_)


def test_settings_are_checked():
    with pytest.raises(SettingError, match="auto, tpu, gpu, cpu"):
        accelerator.detect("TPU")
    with pytest.raises(SettingError, match="mixed_bfloat16"):
        accelerator.detect("cpu", "half")


@pytest.mark.slow
def test_a_tpu_rehearsal_is_eight_devices_of_jax():
    done = run(
        "from petals.accelerator import detect; d = detect('tpu'); print(d.as_dict())",
        KAGGLE_REHEARSAL="tpu", JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=8",
    )  # fmt: skip
    assert "'kind': 'tpu'" in done.stdout, done.stderr
    assert "'replicas': 8" in done.stdout
    assert "'backend': 'jax'" in done.stdout
    assert "'rehearsal': True" in done.stdout


@pytest.mark.slow
def test_keras_imported_too_early_is_named():
    done = run(
        "import keras; from petals.accelerator import detect; detect('tpu')",
        KAGGLE_REHEARSAL="tpu", JAX_PLATFORMS="cpu",
    )  # fmt: skip
    assert done.returncode != 0
    assert "Keras was imported with the tensorflow backend before" in done.stderr
