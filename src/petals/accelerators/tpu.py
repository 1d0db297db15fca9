"""The two ways to a TPU: each returns within its time limit or says why not.

Both see the TPU of their own machine, TensorFlow only where `tensorflow-tpu` is installed. Nothing
here reaches a *TPU node*, the older kind in a machine of its own: Kaggle has none any more.
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

LOCAL = "local"  # what TPU_NAME says on a machine that has the chips itself
PAUSE = 5.0  # seconds between two attempts at a TPU that another process holds


class NoTPUError(AcceleratorError):
    """There is no TPU to be had this way; the message gives the reason."""


def signs() -> list[str]:
    """The device files and environment variables that indicate a TPU on this machine."""
    files = [str(path) for path in Path("/dev").glob("accel[0-9]*")]
    files += ["/dev/vfio/0"] if Path("/dev/vfio/0").exists() else []
    return files + [name for name in ("TPU_WORKER_ID", "TPU_NAME") if os.environ.get(name)]


def told_by_environment() -> dict[str, str]:
    """What the variables of the environment say of a TPU, by their names, and what follows."""
    told = {}
    name = os.environ.get("TPU_NAME", "").strip()
    if name and name.lower() != LOCAL:
        told["TPU_NAME"] = f"{name}: only a TPU of this machine is used, and no other by its name"
    addresses = os.environ.get("TPU_PROCESS_ADDRESSES", "")
    count = len([address for address in addresses.split(",") if address.strip()])
    if count > 1:
        told["TPU_PROCESS_ADDRESSES"] = (
            f"{count} processes, for all of which the TPU waits: start the notebook in each of "
            "them with PETALS_HOSTS=auto, or unset the variable"
        )
    elif count:
        told["TPU_PROCESS_ADDRESSES"] = f"{addresses}: one process has all chips"
    return told


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
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=LOCAL)
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
