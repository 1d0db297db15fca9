import importlib.util
import os
import subprocess
import sys
import time
import urllib.error

import pytest
import tensorflow as tf

from petals.accelerators import detect, tpu
from petals.errors import AcceleratorError, SettingError


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    """In a process of its own, as the backend is chosen once a process."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS_", "KAGGLE_", "TPU_"))}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_auto_at_home_is_a_cpu_and_says_what_was_tried():
    device = detect.detect("auto")
    assert (device.kind, device.replicas, device.backend, device.dtype) == (
        "cpu",
        1,
        "tensorflow",
        "float32",
    )
    text = str(device)
    assert "no sign of one" in text
    assert "GPU through TensorFlow   0 devices" in text
    with device.scope():
        pass


@pytest.mark.parametrize("request_", ["gpu", "tpu"])
def test_a_missing_device_that_was_asked_for_is_an_error(request_):
    with pytest.raises(
        AcceleratorError, match=f"a {request_.upper()} was asked for and none is here"
    ):
        detect.detect(request_)


def test_settings_are_checked():
    with pytest.raises(SettingError, match="auto, tpu, gpu, cpu"):
        detect.detect("TPU")
    with pytest.raises(SettingError, match="mixed_bfloat16"):
        detect.detect("cpu", "half")


def test_a_rehearsal_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("KAGGLE_REHEARSAL", "npu")
    with pytest.raises(SettingError, match="one of tpu, tpu-tensorflow, gpu"):
        detect.detect()


@pytest.fixture
def tensorflows_tpu(monkeypatch):
    """A machine whose TPU TensorFlow alone reaches; a function that sets what it does there."""

    def no_jax(*_):
        raise tpu.NoTPUError("jax is not installed")

    def connects(connect):
        monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", connect)

    monkeypatch.setenv("TPU_NAME", "local")
    monkeypatch.setattr(tpu, "through_jax", no_jax)
    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", lambda tpu: tpu)
    return connects


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("Please provide a TPU Name to connect to."), "ValueError: Please provide"),
        (tf.errors.UnavailableError(None, None, "the TPU is in use by process 7"), "in use by"),
        (tf.errors.ResourceExhaustedError(None, None, "no free cores"), "ResourceExhaustedError"),
        (urllib.error.URLError("no metadata here"), "URLError: <urlopen error no metadata"),
    ],
)
def test_tensorflows_tpu_is_there_but_busy(tensorflows_tpu, error, says):
    def busy(resolver):
        assert resolver == "local"
        raise error

    tensorflows_tpu(busy)
    with pytest.raises(AcceleratorError, match="jax is not installed") as raised:
        detect.detect("tpu")
    assert says in str(raised.value)
    device = detect.detect("auto")
    assert device.kind == "cpu"
    assert says in str(device)


def test_a_tpu_that_does_not_answer_is_left_alone(tensorflows_tpu, monkeypatch):
    monkeypatch.setattr(detect, "PATIENCE", 2.0)
    tensorflows_tpu(lambda resolver: time.sleep(20))
    begun = time.monotonic()
    with pytest.raises(AcceleratorError, match="no answer within 2 s: another process holds it"):
        detect.detect("tpu")
    assert time.monotonic() - begun < 10


def test_without_tf_keras_there_is_no_tpu_strategy(tensorflows_tpu, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AcceleratorError, match="pip install tf_keras"):
        detect.detect("tpu")


def test_jax_that_hangs_ends_the_run_and_the_process():
    done = run(
        "import time, jax; from jax._src import xla_bridge\n"
        "xla_bridge.register_backend_factory('tpu', lambda: time.sleep(1000), priority=300)\n"
        "from petals.accelerators import detect; detect.PATIENCE = 2; detect.detect('tpu')"
    )
    assert done.returncode == 1
    assert "TPU through JAX: no answer within 2 s" in done.stderr


BUSY = """\
from jax._src import xla_bridge
from petals.accelerators import tpu
starts = []
def start():
    starts.append(1)
    if len(starts) <= {failures}:
        raise RuntimeError("ABORTED: libtpu multi-process lockfile")
    return xla_bridge.make_cpu_client()
xla_bridge.register_backend_factory("tpu", start, priority=300)
tpu.PAUSE = 0.2
devices = tpu.through_jax(2.0)
"""


def test_a_tpu_that_another_process_still_holds_is_asked_again():
    code = BUSY.format(failures=3) + "print(len(devices), len(starts))"
    done = run(code, TPU_WORKER_ID="0")
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("the TPU is not free, asking again for 2 s: RuntimeError: ")
    assert done.stdout.count("asking again") == 1
    assert last == "1 4"


@pytest.mark.parametrize(("worker", "says"), [("0", "asking again"), ("", "")])
def test_a_tpu_that_never_starts_is_given_up(worker, says):
    done = run(BUSY.format(failures=1000), TPU_WORKER_ID=worker)
    assert done.returncode == 1
    assert "NoTPUError: RuntimeError: Backend 'tpu' failed to initialize" in done.stderr
    assert ("asking again" in done.stdout) == bool(says)


@pytest.mark.long
def test_tensorflows_tpu_is_trained_on_with_the_legacy_keras():
    done = run(
        "import tensorflow as tf\n"
        "tf.tpu.experimental.initialize_tpu_system = lambda resolver: None\n"
        "tf.distribute.TPUStrategy = lambda resolver: tf.distribute.MirroredStrategy(['CPU:0'])\n"
        "from petals.accelerators.detect import detect; d = detect('tpu'); print(d)\n"
        "from tensorflow import keras; print(keras.layers.Dense.__module__, d.scope())",
        TPU_NAME="local",
        JAX_PLATFORMS="cpu",
    )
    assert "TPU: TPU, 1 replica, tf_keras" in done.stdout, done.stderr
    assert "\ntf_keras." in done.stdout
    assert "nullcontext" not in done.stdout
    assert "TPU through JAX          RuntimeError" in done.stdout


@pytest.mark.long
def test_keras_imported_too_early_is_an_error():
    done = run(
        "from tensorflow import keras; keras.layers\n"
        "from petals.accelerators.detect import detect; detect('tpu')",
        KAGGLE_REHEARSAL="tpu",
        JAX_PLATFORMS="cpu",
    )
    assert done.returncode != 0
    assert "Keras was imported with the tensorflow backend before" in done.stderr


@pytest.mark.long
def test_a_rehearsal_after_tensorflow_was_at_work():
    done = run(
        "import tensorflow as tf; tf.zeros(1); "
        "from petals.accelerators.detect import detect; detect()",
        KAGGLE_REHEARSAL="gpu",
    )
    assert "TensorFlow was at work before" in done.stderr
