"""Choose the Keras of `from tensorflow import keras`: Keras 3 on JAX or TensorFlow, or tf_keras.

TensorFlow and Keras read the choice from environment variables, once, at their first import.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from petals.accelerators.initial_values import draw_on_host
from petals.errors import AcceleratorError

JAX, TENSORFLOW, LEGACY = "jax", "tensorflow", "tf_keras"
BACKEND, USE_LEGACY = "KERAS_BACKEND", "TF_USE_LEGACY_KERAS"
_PACKAGES = ("keras", "tf_keras", "tensorflow")


def choose(flavour: str) -> str:
    """Select that flavour of Keras and return its name and version.

    `TENSORFLOW` leaves a user's own `TF_USE_LEGACY_KERAS=1` in force. Raises `AcceleratorError`
    when another Keras is imported already; the message names the modules that imported it.
    """
    backend = JAX if flavour == JAX else TENSORFLOW
    module = sys.modules.get("keras")
    other = module.backend.backend() if module and hasattr(module, "backend") else ""
    if other not in ("", backend) and not (flavour == LEGACY and "tf_keras" in sys.modules):
        raise _too_early(f"Keras was imported with the {other} backend", flavour)
    os.environ[BACKEND] = backend
    if flavour == LEGACY and importlib.util.find_spec("tf_keras") is None:
        raise AcceleratorError(
            "TensorFlow's TPUStrategy trains with the legacy Keras only, and tf_keras is not "
            "installed: pip install tf_keras, in TensorFlow's version"
        )
    if flavour != TENSORFLOW:
        os.environ[USE_LEGACY] = "1" if flavour == LEGACY else "0"
    from tensorflow import keras

    legacy = is_legacy(keras)
    if legacy != (flavour == LEGACY) and flavour != TENSORFLOW:
        raise _too_early(f"tf.keras was used as {'tf_keras' if legacy else 'Keras 3'}", flavour)
    if flavour == JAX:
        draw_on_host(keras)
    return version(keras)


def is_legacy(keras: ModuleType) -> bool:
    """Whether this is tf_keras, the Keras 2 that TensorFlow's TPUStrategy needs."""
    return keras.layers.Layer.__module__.startswith("tf_keras")


def version(keras: ModuleType) -> str:
    """The name and version, such as "Keras 3.13.1" or "tf_keras 2.20.1"."""
    if is_legacy(keras):
        import importlib.metadata

        return f"tf_keras {importlib.metadata.version('tf_keras')}"
    return f"Keras {keras.version()}"


def scope(model: Any) -> AbstractContextManager:
    """The tf.distribute scope of a model, in which its optimizer and metrics must be created."""
    strategy = getattr(model, "distribute_strategy", None)
    return nullcontext() if strategy is None else strategy.scope()


def build_optimizer(model: Any) -> None:
    """Make the variables of a compiled model's optimizer where there are none yet."""
    if getattr(model.optimizer, "built", False):
        return  # a second time gives the optimizer of mixed_float16 variables that nothing uses
    with scope(model):
        model.optimizer.build(model.trainable_variables)


def replicas(model: Any) -> int:
    """The number of devices that share each batch of a model; it must divide the batch size."""
    strategy = getattr(model, "distribute_strategy", None)
    if strategy is not None:
        return strategy.num_replicas_in_sync
    from tensorflow import keras

    shared = keras.distribution.distribution() if hasattr(keras, "distribution") else None
    return 1 if shared is None else int(np.prod(shared.device_mesh.shape))


def _too_early(what: str, flavour: str) -> AcceleratorError:
    by = _importers()
    return AcceleratorError(
        f"{what} before petals.accelerators.detect.detect could choose {flavour}"
        + (f", by {', '.join(by)}" if by else "")
        + ": import keras, tensorflow and whatever imports them after detect"
    )


def _importers() -> list[str]:
    """The first three modules outside `_PACKAGES` that hold an object of these packages."""
    outside = (
        (name, module)
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and name.split(".")[0] not in (*_PACKAGES, "petals", "__mp_main__")
        and (name == "__main__" or "__file__" in vars(module))
    )
    holders = [
        name
        for name, module in outside
        if any(_origin(value) in _PACKAGES for value in list(vars(module).values()))
    ]
    return holders[:3]


def _origin(value: object) -> str:
    """The package a module, class or function comes from."""
    name = "__name__" if isinstance(value, ModuleType) else "__module__"
    try:  # read the dictionary itself: getattr would trigger lazy imports
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        attributes = {}
    return str(attributes.get(name) or type(value).__module__).split(".")[0]
