import importlib.util
import json
import threading
from types import SimpleNamespace

import pytest
import tensorflow as tf

from petals.accelerators import detect, tpu
from petals.errors import AcceleratorError, SettingError


def test_auto_at_home_is_a_cpu_and_says_what_was_tried():
    device = detect.detect("auto")
    facts = (device.kind, device.replicas, device.backend, device.dtype)
    assert facts == ("cpu", 1, "tensorflow", "float32")
    assert "no sign of one" in str(device)
    assert "GPU through TensorFlow   0 devices" in str(device)
    with device.scope():
        pass


@pytest.mark.parametrize(("device", "name"), [("gpu", "GPU"), ("tpu", "TPU")])
def test_a_missing_device_that_was_asked_for_is_an_error(device, name):
    with pytest.raises(AcceleratorError, match=f"you asked for a {name}, but there is none"):
        detect.detect(device)


@pytest.mark.parametrize(
    ("given", "rehearsal", "choices"),
    [
        (("TPU",), "", "auto, tpu, gpu, cpu"),
        (("cpu", "half"), "", "mixed_bfloat16"),
        ((), "npu", "one of tpu, tpu-tensorflow, gpu"),
    ],
)
def test_a_setting_that_does_not_exist_is_answered_with_those_that_do(
    monkeypatch, given, rehearsal, choices
):
    monkeypatch.setenv("KAGGLE_REHEARSAL", rehearsal)
    with pytest.raises(SettingError, match=choices):
        detect.detect(*given)


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
    monkeypatch.setattr(detect, "PATIENCE", 1.4)
    never = threading.Event()
    tensorflows_tpu(lambda resolver: never.wait())
    with pytest.raises(AcceleratorError, match="no answer within 1 s: another process holds it"):
        detect.detect("tpu")
    never.set()


def test_a_tpu_of_another_machine_is_not_used_and_told(tensorflows_tpu, monkeypatch):
    asked = []
    tensorflows_tpu(asked.append)
    monkeypatch.setenv("TPU_NAME", "grpc://10.0.0.2:8470")
    said = str(detect.detect("auto"))
    assert asked == ["local"]
    assert "grpc://10.0.0.2:8470: only a TPU of this machine is used" in said


@pytest.mark.parametrize(
    ("addresses", "says"),
    [("local", "local: one process has all chips"), ("a:8476,b:8476", "2 processes, for all of")],
)
def test_the_addresses_of_processes_are_told(tensorflows_tpu, monkeypatch, addresses, says):
    tensorflows_tpu(lambda resolver: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("TPU_PROCESS_ADDRESSES", addresses)
    with pytest.raises(AcceleratorError, match=f"TPU_PROCESS_ADDRESSES: {says}"):
        detect.detect("tpu")


def test_without_tf_keras_there_is_no_tpu_strategy(tensorflows_tpu, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AcceleratorError, match="pip install tf_keras"):
        detect.detect("tpu")


def test_jax_that_hangs_ends_the_run_and_the_process(python):
    code = (
        "import time, jax; from jax._src import xla_bridge\n"
        "xla_bridge.register_backend_factory('tpu', lambda: time.sleep(1000), priority=300)\n"
        "from petals.accelerators import detect; detect.PATIENCE = 1; detect.detect('tpu')"
    )
    assert "TPU through JAX: no answer within 1 s" in python(code, exit_code=1)


CLAIMED = """\
import os
from jax._src import xla_bridge
from petals.accelerators import tpu
starts, failures = [], 1000
def start():
    starts.append(1)
    if len(starts) <= failures:
        raise RuntimeError("ABORTED: libtpu multi-process lockfile")
    return xla_bridge.make_cpu_client()
def ask(seconds):
    before = len(starts)
    try:
        devices = len(tpu.through_jax(seconds))
    except tpu.NoTPUError as error:
        devices = error
    print(len(starts) - before, "starts:", devices)
xla_bridge.register_backend_factory("tpu", start, priority=300)
tpu.PAUSE = 0.2
ask(9.0)
os.environ["TPU_WORKER_ID"] = "0"
ask(1.0)
failures = len(starts) + 3
ask(9.0)
"""


def test_a_tpu_that_another_process_still_holds_is_asked_again_for_a_while(python):
    no_sign, asking, given_up, asking_again, claimed = python(CLAIMED).splitlines()
    assert no_sign.startswith("1 starts: RuntimeError: Backend 'tpu' failed to initialize")
    assert asking.startswith("the TPU is not free, trying again for 1 s: RuntimeError: ")
    assert int(given_up.split()[0]) > 1
    assert given_up.partition(" ")[2] == no_sign.partition(" ")[2]
    assert asking_again.startswith("the TPU is not free, trying again for 9 s: ")
    assert claimed == "4 starts: 1"


@pytest.mark.long
def test_tensorflows_tpu_is_trained_on_with_the_legacy_keras(python):
    output = python(
        "import tensorflow as tf\n"
        "tf.tpu.experimental.initialize_tpu_system = lambda resolver: None\n"
        "tf.distribute.TPUStrategy = lambda resolver: tf.distribute.MirroredStrategy(['CPU:0'])\n"
        "from petals.accelerators.detect import detect; d = detect('tpu'); print(d)\n"
        "from tensorflow import keras; print(keras.layers.Dense.__module__, d.scope())",
        TPU_NAME="local",
        JAX_PLATFORMS="cpu",
    )
    assert "TPU: TPU, 1 replica, tf_keras" in output
    assert "\ntf_keras." in output
    assert "nullcontext" not in output
    assert "TPU through JAX          RuntimeError" in output


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "rehearsal", "says"),
    [
        (
            "from tensorflow import keras; keras.layers",
            "tpu",
            "Keras was imported with the tensorflow backend before",
        ),
        ("import tensorflow as tf; tf.zeros(1)", "gpu", "TensorFlow had started before"),
    ],
)
def test_what_was_imported_or_at_work_too_early_is_an_error(python, before, rehearsal, says):
    code = f"{before}; from petals.accelerators.detect import detect; detect()"
    assert says in python(code, exit_code=1, KAGGLE_REHEARSAL=rehearsal, JAX_PLATFORMS="cpu")


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((6, 0), "mixed_float16"), ((7, 5), "mixed_float16"), ((8, 0), "mixed_bfloat16")],
    ids=["P100", "T4", "A100"],
)
def test_a_gpu_computes_in_bfloat16_where_its_cards_have_it(
    monkeypatch, policy, capability, expected
):
    details = {"device_name": "a card", "compute_capability": capability}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: details)
    device = detect.detect("gpu")
    assert (device.kind, device.name, device.backend) == ("gpu", "a card", "tensorflow")
    assert device.dtype == expected


def test_a_backend_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(SettingError, match="auto, jax, tensorflow"):
        detect.detect("cpu", backend="torch")


def test_several_hosts_do_not_train_on_tensorflow(monkeypatch):
    monkeypatch.setenv("PETALS_HOSTS", "auto")
    with pytest.raises(SettingError, match="several hosts train on JAX"):
        detect.detect(backend="tensorflow")


DEVICE = """\
from petals.accelerators.detect import detect
import json, sys
device = detect(sys.argv[1], backend=sys.argv[2])
from tensorflow import keras
import numpy as np
inputs = keras.Input((4,))
model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
model.compile("sgd", "mse")
model.fit(np.zeros((16, 4)), np.zeros((16, 2)), batch_size=8, verbose=0)
shared = keras.distribution.distribution() if hasattr(keras, "distribution") else None
print(json.dumps(device.as_dict() | {"shared": shared is not None}))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("rehearsal", "request_", "backend", "devices", "expected"),
    [
        ("gpu", "gpu", "jax", 2, ("gpu", 2, "jax", True, True)),
        ("gpu", "auto", "jax", 1, ("gpu", 1, "jax", True, False)),
        ("tpu", "auto", "auto", 1, ("tpu", 1, "jax", True, False)),
        ("", "cpu", "jax", 1, ("cpu", 1, "jax", False, False)),
        ("gpu:2", "gpu", "tensorflow", 1, ("gpu", 2, "tensorflow", True, False)),
    ],
    ids=["two GPUs on JAX", "one GPU on JAX", "one chip", "CPU on JAX", "GPUs on TensorFlow"],
)
def test_the_backend_that_was_asked_for_trains(
    python, rehearsal, request_, backend, devices, expected
):
    variables = {
        "KAGGLE_REHEARSAL": rehearsal,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    device = json.loads(python(DEVICE, request_, backend, **variables).splitlines()[-1])
    names = ("kind", "replicas", "backend", "rehearsal", "shared")
    assert tuple(device[name] for name in names) == expected


@pytest.mark.long
def test_a_gpu_that_jax_does_not_see_is_an_error(python):
    says = python(
        "from petals.accelerators.detect import detect; detect('gpu', backend='jax')",
        exit_code=1,
        JAX_PLATFORMS="cpu",
    )
    assert "you asked for a GPU, but there is none" in says
    assert "GPU through JAX: " in says
    assert "GPU through TensorFlow" not in says


def test_a_graphics_card_that_jax_sees_is_named_with_its_capability(monkeypatch, policy):
    card = SimpleNamespace(
        platform="gpu", id=0, device_kind="NVIDIA A100", compute_capability="8.0"
    )
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(tpu, "through_jax", lambda seconds, platform: [card])
    monkeypatch.setattr(detect.keras_backend, "choose", lambda flavour: "Keras 3")
    device = detect.detect("gpu", backend="jax")
    facts = (device.kind, device.name, device.replicas, device.backend, device.dtype)
    assert facts == ("gpu", "NVIDIA A100", 1, "jax", "mixed_bfloat16")
