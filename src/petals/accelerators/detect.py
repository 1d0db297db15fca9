"""The device a run has. Call `detect` before anything imports Keras: it chooses the Keras too.

Kaggle's TPU image holds a TensorFlow that cannot see the TPU; JAX can. So a TPU means Keras on
JAX there, TensorFlow's TPUStrategy with the legacy Keras where TensorFlow reaches it, and
Keras on TensorFlow everywhere else, unless JAX is asked for. The `Accelerator` lists every attempt
and its outcome, and `detect` raises an error when the device that the user asked for is missing.
"""

import ctypes
import os
import platform
import re
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from petals.accelerators import cluster, keras_backend, tpu
from petals.errors import AcceleratorError, SettingError

REQUESTS = ("auto", "tpu", "gpu", "cpu")
BACKENDS = ("auto", keras_backend.JAX, keras_backend.TENSORFLOW)
POLICIES = {"tpu": "mixed_bfloat16", "gpu": "mixed_float16", "cpu": "float32"}
BFLOAT16_FROM = (8, 0)  # the compute capability of the first NVIDIA cards that compute in bfloat16
# Set by kernelkit's local Kaggle: CPU devices stand in, of JAX for "tpu", of TensorFlow for
# "gpu" and "tpu-tensorflow". A number of devices may follow these two, as in "gpu:4".
REHEARSAL = "KAGGLE_REHEARSAL"
REHEARSALS = {"": 0, "tpu": 0, "tpu-tensorflow": 8, "gpu": 2}  # how many devices
PATIENCE = 60.0  # seconds: the limit for all attempts at a TPU together
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
MOST_MAPPED = 32 << 20  # bytes; glibc allows no higher threshold
KEPT_FREE = 1 << 30  # bytes that may lie free at the end of a heap


@dataclass
class Accelerator:
    """The device a run has.

    `kind`: "tpu", "gpu" or "cpu"; `replicas`: devices, of all `hosts`, that share each batch;
    `host`: this host's number from 0; `backend`: the Keras backend; `keras`: the name and version
    of Keras; `dtype`: the Keras dtype policy; `rehearsal`: CPU devices stand in for the real ones;
    `attempts`: the outcome of each attempt, in their order; `capability`: NVIDIA's compute
    capability of a GPU, (0, 0) where there is none or it is not known.
    """

    kind: str
    name: str
    replicas: int = 1
    backend: str = keras_backend.TENSORFLOW
    keras: str = ""
    dtype: str = "float32"
    rehearsal: bool = False
    host: int = 0
    hosts: int = 1
    attempts: dict[str, str] = field(default_factory=dict)
    strategy: Any = None
    capability: tuple[int, int] = (0, 0)

    @property
    def policy(self) -> str:
        """The dtype policy that suits the device: the 16-bit floats that it computes in."""
        if self.rehearsal:
            return "float32"
        if self.kind == "gpu" and self.capability >= BFLOAT16_FROM:
            return POLICIES["tpu"]
        return POLICIES[self.kind]

    @property
    def on_cpu(self) -> bool:
        """Whether the device computes on CPUs, where a run can be repeated to the bit."""
        return self.kind == "cpu" or self.rehearsal

    def scope(self) -> AbstractContextManager:
        """The context to build models in."""
        return self.strategy.scope() if self.strategy is not None else nullcontext()

    def as_dict(self) -> dict[str, Any]:
        """The device as `metrics.json` records it."""
        names = ("kind", "name", "replicas", "hosts", "backend", "keras", "dtype", "rehearsal")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        note = " (rehearsal: CPU devices stand in)" if self.rehearsal else ""
        where = f" on {self.hosts} hosts" if self.hosts > 1 else ""
        lines = [
            f"{self.kind.upper()}{note}: {self.name}, {self.replicas} replica"
            f"{'s' if self.replicas > 1 else ''}{where}, {self.keras} on {self.backend}, "
            f"{self.dtype}"
        ]
        return "\n".join(lines + [f"  {what:24} {how}" for what, how in self.attempts.items()])


def detect(request: str = "auto", dtype: str = "auto", backend: str = "auto") -> Accelerator:
    """Find the device, choose the Keras for it and set the dtype policy.

    `request`: "auto" takes the best device there is; "tpu", "gpu" and "cpu" accept no other.
    `dtype`: of Keras's policies, or "auto": bfloat16 on a TPU and on GPUs that compute in it,
    float16 on other GPUs, float32 on a CPU. `backend`: what Keras runs on; "auto" is JAX for a TPU
    that JAX sees and for several hosts, TensorFlow for everything else; "jax" and "tensorflow"
    accept no other. Several hosts always run on JAX.

    The call returns or raises in about a minute, also when a TPU does not answer. It joins the
    other hosts that `petals.accelerators.cluster` finds. Raises `AcceleratorError` when the
    requested device is missing or another Keras was imported before, `HostsError` when a host is
    missing, and `SettingError` for an unknown request, dtype or backend.
    """
    if backend not in BACKENDS:
        raise SettingError(f"backend {backend!r}: choose one of {', '.join(BACKENDS)}")
    if request not in REQUESTS:
        raise SettingError(f"accelerator {request!r}: choose one of {', '.join(REQUESTS)}")
    # Without this, TensorFlow's C++ side writes notes about what it does into every notebook.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    keep_freed_memory()
    attempts: dict[str, str] = {}
    spec = cluster.read()
    if spec and backend == keras_backend.TENSORFLOW:
        raise SettingError("backend='tensorflow': several hosts train on JAX, so leave it out")
    device = _of_all_hosts(spec, attempts) if spec else _of_this_host(request, backend, attempts)
    if device is None or request not in ("auto", device.kind):
        tried = "".join(f"\n  {what}: {outcome}" for what, outcome in attempts.items())
        raise AcceleratorError(
            f"you asked for a {request.upper()}, but there is none. On Kaggle choose it in "
            "kernel-metadata.json or with --accelerator, and make sure that no other notebook of "
            f"this session uses it; or set accelerator='auto'. Tried:{tried}"
        )
    if dtype == "auto":
        dtype = device.policy
    from tensorflow import keras

    try:
        keras.mixed_precision.set_global_policy(dtype)
    except (ValueError, TypeError):
        raise SettingError(
            f"dtype {dtype!r}: choose auto, float32, mixed_bfloat16 or mixed_float16"
        ) from None
    device.dtype = dtype
    device.attempts = attempts
    return device


def keep_freed_memory() -> None:
    """Have glibc keep the memory that is given back, where the platform has its `mallopt`.

    The next batch of images asks for as much again. By default glibc returns blocks of tens of
    megabytes at once, and the system clears each page before it hands it out again.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return
    mallopt(M_MMAP_THRESHOLD, MOST_MAPPED)
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE)


def _of_all_hosts(spec: cluster.ClusterSpec, attempts: dict[str, str]) -> Accelerator:
    here = cluster.join(spec)
    import jax

    rehearsal = _rehearsal()[0].partition("-")[0]
    device = _on_jax(jax.devices(), rehearsal or jax.default_backend(), bool(rehearsal))
    attempts["Hosts"] = f"{here.count} through JAX, this is {here.index}"
    attempts[f"{device.kind.upper()} of all hosts"] = f"{device.replicas} devices"
    device.host = here.index
    device.hosts = here.count
    return device


def _of_this_host(request: str, backend: str, attempts: dict[str, str]) -> Accelerator | None:
    rehearsal, count = _rehearsal()
    if rehearsal and request in ("auto", rehearsal.partition("-")[0]):
        return _rehearsed(rehearsal, count, backend, attempts)
    device = None
    if request in ("auto", "tpu"):
        device = _tpu(request, backend, attempts)
    if device is None and request in ("auto", "gpu"):
        device = _gpus(backend, attempts)
    if device is None and request in ("auto", "cpu"):
        attempts["CPU"] = f"{os.cpu_count()} cores"
        if backend == keras_backend.JAX:
            return _on_jax(tpu.through_jax(PATIENCE, "cpu"), "cpu")
        version = keras_backend.choose(keras_backend.TENSORFLOW)
        device = Accelerator("cpu", _processor(), keras=version)
    return device


def _tpu(request: str, backend: str, attempts: dict[str, str]) -> Accelerator | None:
    if request == "auto" and not tpu.signs():
        attempts["TPU"] = "no sign of one on this machine"
        return None
    deadline = time.monotonic() + PATIENCE
    if backend != keras_backend.TENSORFLOW:
        try:
            devices = tpu.through_jax(PATIENCE)
            attempts["TPU through JAX"] = f"{len(devices)} devices"
            return _on_jax(devices, "tpu")
        except tpu.NoTPUError as error:
            attempts["TPU through JAX"] = str(error)
    seconds = deadline - time.monotonic()
    # JAX may have used up the time: a TPU that keeps JAX waiting keeps TensorFlow waiting.
    if backend == keras_backend.JAX or seconds < 1:
        return None
    try:
        strategy = tpu.through_tensorflow(seconds)
    except tpu.NoTPUError as error:
        attempts["TPU through TensorFlow"] = str(error)
        return None
    count = strategy.num_replicas_in_sync
    version = keras_backend.choose(keras_backend.LEGACY)
    attempts["TPU through TensorFlow"] = f"{count} replicas"
    return Accelerator("tpu", "TPU", count, keras=version, strategy=strategy)


def _on_jax(devices: list[Any], kind: str, rehearsal: bool = False) -> Accelerator:
    version = keras_backend.choose(keras_backend.JAX)
    import jax
    import tensorflow as tf
    from tensorflow import keras

    with suppress(RuntimeError):  # TensorFlow has begun: then it holds whatever it took
        tf.config.set_visible_devices([], "GPU")  # it only reads the photos
    if jax.default_backend() != devices[0].platform:  # the CPU of a machine with more than that
        jax.config.update("jax_default_device", devices[0])
    # With a distribution over one device Keras would compile the training step three times.
    if len(devices) > 1:
        names = [f"{device.platform}:{device.id}" for device in devices]
        # Each host feeds its own part of a batch, so Keras must not divide the dataset again.
        shared = keras.distribution.DataParallel(devices=names, auto_shard_dataset=False)
        keras.distribution.set_distribution(shared)
    name = _processor() if devices[0].platform == "cpu" else devices[0].device_kind
    capability = re.match(r"(\d+)\.(\d+)", str(getattr(devices[0], "compute_capability", "")))
    return Accelerator(
        kind,
        name,
        len(devices),
        keras_backend.JAX,
        version,
        rehearsal=rehearsal,
        capability=(int(capability[1]), int(capability[2])) if capability else (0, 0),
    )


def _gpus(backend: str, attempts: dict[str, str]) -> Accelerator | None:
    if backend == keras_backend.JAX:
        try:
            devices = tpu.through_jax(PATIENCE, "gpu")
        except tpu.NoTPUError as error:
            attempts["GPU through JAX"] = str(error)
            return None
        attempts["GPU through JAX"] = f"{len(devices)} devices"
        return _on_jax(devices, "gpu")
    version = keras_backend.choose(keras_backend.TENSORFLOW)
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    attempts["GPU through TensorFlow"] = f"{len(gpus)} devices"
    if not gpus:
        return None
    details = tf.config.experimental.get_device_details(gpus[0])
    strategy = tf.distribute.MirroredStrategy() if len(gpus) > 1 else None
    return Accelerator(
        "gpu",
        details.get("device_name", "GPU"),
        len(gpus),
        keras=version,
        strategy=strategy,
        capability=tuple(details.get("compute_capability", (0, 0))),
    )


def _rehearsal() -> tuple[str, int]:
    """(what CPU devices stand in for, how many), or ("", 0)."""
    kind, _, count = os.environ.get(REHEARSAL, "").partition(":")
    if kind not in REHEARSALS or not (count.isdigit() or count == ""):
        raise SettingError(
            f"{REHEARSAL}={kind}:{count}: choose one of {', '.join([*REHEARSALS][1:])}"
        )
    return kind, int(count or REHEARSALS[kind])


def _rehearsed(rehearsal: str, count: int, backend: str, attempts: dict[str, str]) -> Accelerator:
    kind = rehearsal.partition("-")[0]
    usual = keras_backend.JAX if rehearsal == "tpu" else keras_backend.TENSORFLOW
    if (usual if backend == "auto" else backend) == keras_backend.JAX:
        devices = tpu.through_jax(PATIENCE, "cpu")
        attempts[f"{kind.upper()} rehearsed"] = f"{len(devices)} devices of JAX on the CPU"
        return _on_jax(devices, kind, rehearsal=True)
    legacy = kind == "tpu"
    count = count or REHEARSALS["tpu-tensorflow"]  # "tpu" itself counts JAX's devices
    version = keras_backend.choose(keras_backend.LEGACY if legacy else keras_backend.TENSORFLOW)
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    devices = [f"CPU:{i}" for i in range(count)]
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        raise AcceleratorError(
            "TensorFlow had started before detect could divide the CPU for a rehearsal: call "
            "petals.accelerators.detect.detect first"
        ) from None
    attempts[f"{kind.upper()} rehearsed"] = f"{count} devices on the CPU"
    strategy = tf.distribute.MirroredStrategy(devices)
    return Accelerator(kind, _processor(), count, keras=version, rehearsal=True, strategy=strategy)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", info.read_text()) if info.is_file() else None
    name = model[1] if model else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"
