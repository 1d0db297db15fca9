"""The two ways to a TPU of this machine: each returns within its time limit or says why not.

JAX sees the TPU of its own machine, and TensorFlow does where `tensorflow-tpu` is installed.
"""

import importlib.util
import os
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from petals.accelerators import keras_backend
from petals.accelerators.timeouts import Answer, call_with_timeout
from petals.errors import AcceleratorError
from petals.quiet import without_notes

PAUSE = 5.0  # seconds between two attempts at a TPU that another process holds


class NoTPUError(AcceleratorError):
    """There is no TPU to be had this way; the message gives the reason."""


def signs() -> list[str]:
    """The device files and environment variables that indicate a TPU on this machine."""
    files = [str(path) for path in Path("/dev").glob("accel[0-9]*")]
    files += ["/dev/vfio/0"] if Path("/dev/vfio/0").exists() else []
    return files + [name for name in ("TPU_WORKER_ID", "TPU_NAME") if os.environ.get(name)]


def through_jax(seconds: float, platform: str = "tpu") -> list[Any]:
    """JAX's devices. Raises `NoTPUError` when there are none or no answer within `seconds`.

    The chips of a killed session stay claimed for 10 to 30 s, so a machine with signs of a TPU is
    asked again. JAX remembers a failed start until it forgets its backends.
    """
    if importlib.util.find_spec("jax") is None:
        raise NoTPUError("jax is not installed")

    def devices() -> list[Any]:
        import jax

        return jax.devices(platform)  # with a platform named, JAX reports why its TPU is missing

    deadline = time.monotonic() + seconds
    reported = False
    while True:
        try:
            # A second at least, even if the sleep has used up the time.
            return _answer(devices, max(1.0, deadline - time.monotonic()))
        except NoTPUError as error:
            claimed = "initialize" in str(error) and signs()
            if not claimed or time.monotonic() + PAUSE >= deadline:
                raise
            if not reported:
                print(f"the TPU is not free, trying again for {seconds:.0f} s: {error}", flush=True)
            reported = True
        time.sleep(PAUSE)
        from jax.extend.backend import clear_backends

        clear_backends()


def through_tensorflow(seconds: float) -> Any:
    """A `TPUStrategy`. Raises `NoTPUError` when there is no TPU or no answer within `seconds`.

    A failed attempt leaves TensorFlow's devices initialised.
    """
    if importlib.util.find_spec("tf_keras") is None:
        raise NoTPUError(keras_backend.NO_LEGACY)
    with without_notes():
        import tensorflow as tf

    def connected() -> Any:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return resolver

    return tf.distribute.TPUStrategy(_answer(connected, seconds))


def _answer(ask: Callable[[], Answer], seconds: float) -> Answer:
    try:
        return call_with_timeout(seconds, ask)
    except TimeoutError:
        raise NoTPUError(
            f"no answer within {seconds:.0f} s: another process holds it, or the TPU waits for "
            "other hosts of its slice"
        ) from None
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        raise NoTPUError(f"{type(error).__name__}: {textwrap.shorten(line, 200)}") from error
