"""What this runs on. Call `detect` first of all: it decides which backend Keras will have.

Kaggle's TPU image holds a TensorFlow that cannot see the TPU; JAX can. So a TPU means Keras on
JAX there, and TensorFlow everywhere else. No failure is hidden: every attempt is in the table,
and a device that was asked for and is not there ends the run.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from petals.errors import AcceleratorError, SettingError

REQUESTS = ("auto", "tpu", "gpu", "cpu")
POLICIES = {"tpu": "mixed_bfloat16", "gpu": "mixed_float16", "cpu": "float32"}
REHEARSAL = "KAGGLE_REHEARSAL"  # set by kernelkit's local Kaggle: CPU devices stand in


@dataclass
class Accelerator:
    """The device a run has.

    `kind`: "tpu", "gpu" or "cpu"; `replicas`: devices that share each batch; `backend`: Keras's;
    `dtype`: the Keras dtype policy; `rehearsal`: CPU devices stand in for the real ones;
    `attempts`: what was tried and what came of it.
    """

    kind: str
    name: str
    replicas: int = 1
    backend: str = "tensorflow"
    dtype: str = "float32"
    rehearsal: bool = False
    attempts: list[tuple[str, str]] = field(default_factory=list)
    strategy: Any = None

    @property
    def on_cpu(self) -> bool:
        """Whether it computes on CPUs, where runs can be repeated to the bit."""
        return self.kind == "cpu" or self.rehearsal

    def scope(self) -> AbstractContextManager:
        """The context to build models in."""
        return self.strategy.scope() if self.strategy is not None else nullcontext()

    def as_dict(self) -> dict[str, Any]:
        """What `metrics.json` says of the device."""
        names = ("kind", "name", "replicas", "backend", "dtype", "rehearsal")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        note = " (rehearsal: CPU devices stand in)" if self.rehearsal else ""
        lines = [
            f"{self.kind.upper()}{note}: {self.name}, {self.replicas} replica"
            f"{'s' if self.replicas > 1 else ''}, Keras on {self.backend}, {self.dtype}"
        ]
        return "\n".join(lines + [f"  {what:24} {outcome}" for what, outcome in self.attempts])


def detect(request: str = "auto", dtype: str = "auto") -> Accelerator:
    """Find the device, set Keras's backend and dtype policy.

    `request`: "auto" takes the best there is; "tpu", "gpu" and "cpu" insist. Raises
    `AcceleratorError` when that is not there, or when Keras was imported before with another
    backend, and `SettingError` for an unknown request or dtype.
    """
    if request not in REQUESTS:
        raise SettingError(f"accelerator {request!r}: one of {', '.join(REQUESTS)}")
    # TensorFlow's C++ side otherwise opens every notebook with a screenful about its build.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    attempts: list[tuple[str, str]] = []
    found = None
    for kind, probe in (("tpu", _tpu), ("gpu", _gpus), ("cpu", _cpu)):
        if found is None and request in ("auto", kind):
            found = probe(attempts, insist=request == kind)
    if found is None:
        tried = "; ".join(f"{what}: {outcome}" for what, outcome in attempts) or "nothing"
        raise AcceleratorError(
            f"a {request.upper()} was asked for and none is here ({tried}). On Kaggle choose it "
            "in kernel-metadata.json or with --accelerator; or set accelerator='auto'"
        )
    found.attempts = attempts
    found.dtype = _set_policy(POLICIES[found.kind] if dtype == "auto" else dtype, found, dtype)
    return found


def _tpu(attempts: list[tuple[str, str]], insist: bool) -> Accelerator | None:
    rehearsal = os.environ.get(REHEARSAL) == "tpu"
    if not (insist or rehearsal or _tpu_signs()):
        attempts.append(("TPU", "no sign of one on this machine"))
        return None
    if importlib.util.find_spec("jax") is None:
        attempts.append(("TPU through JAX", "jax is not installed"))
        return None
    try:
        import jax

        devices = jax.devices()
    except Exception as error:  # jax raises RuntimeError, and more kinds from below
        attempts.append(("TPU through JAX", f"{type(error).__name__}: {error}".splitlines()[0]))
        return None
    if devices[0].platform != "tpu" and not rehearsal:
        attempts.append(("TPU through JAX", f"jax sees {devices[0].platform} devices only"))
        return None
    attempts.append(("TPU through JAX", f"{len(devices)} devices"))
    _choose_backend("jax")
    from tensorflow import keras

    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=None))
    return Accelerator("tpu", devices[0].device_kind, len(devices), "jax", rehearsal=rehearsal)


def _tpu_signs() -> bool:
    devices = any(Path("/dev").glob("accel[0-9]*")) or Path("/dev/vfio/0").exists()
    return devices or "TPU_WORKER_ID" in os.environ or "TPU_NAME" in os.environ


def _gpus(attempts: list[tuple[str, str]], insist: bool) -> Accelerator | None:
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    attempts.append(("GPU through TensorFlow", f"{len(gpus)} devices"))
    if not gpus:
        if os.environ.get(REHEARSAL) == "gpu":
            return Accelerator("gpu", _processor(), rehearsal=True)
        return None
    _choose_backend("tensorflow")
    details = tf.config.experimental.get_device_details(gpus[0])
    strategy = tf.distribute.MirroredStrategy() if len(gpus) > 1 else None
    return Accelerator("gpu", details.get("device_name", "GPU"), len(gpus), strategy=strategy)


def _cpu(attempts: list[tuple[str, str]], insist: bool) -> Accelerator:
    attempts.append(("CPU", f"{os.cpu_count()} cores"))
    _choose_backend("tensorflow")
    return Accelerator("cpu", _processor())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        import platform

        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def _choose_backend(backend: str) -> None:
    if "keras" in sys.modules and sys.modules["keras"].backend.backend() != backend:
        raise AcceleratorError(
            f"Keras was imported with the {sys.modules['keras'].backend.backend()} backend before "
            f"petals.accelerator.detect could choose {backend}: import keras, or anything that "
            "imports it, after detect"
        )
    os.environ["KERAS_BACKEND"] = backend


def _set_policy(policy: str, found: Accelerator, request: str) -> str:
    from tensorflow import keras

    if found.rehearsal and request == "auto":
        policy = "float32"
    try:
        keras.mixed_precision.set_global_policy(policy)
    except (ValueError, TypeError):
        raise SettingError(
            f"dtype {policy!r}: auto, float32, mixed_bfloat16 or mixed_float16"
        ) from None
    return policy
