"""Choose the Keras of `from tensorflow import keras`: Keras 3 on JAX or TensorFlow, or tf_keras.

TensorFlow and Keras read the choice from environment variables, once, at their first import.
"""

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from petals.errors import AcceleratorError
from petals.quiet import without_notes

JAX, TENSORFLOW, LEGACY = "jax", "tensorflow", "tf_keras"
BACKEND, USE_LEGACY = "KERAS_BACKEND", "TF_USE_LEGACY_KERAS"
NO_LEGACY = (
    "TensorFlow's TPUStrategy trains with the legacy Keras only, and tf_keras is not installed: "
    "pip install tf_keras, in TensorFlow's version"
)
TRUNCATED = 2.0  # standard deviations, at which Keras cuts a normal distribution off


def choose(flavour: str) -> str:
    """Select that flavour of Keras and return its name and version.

    `TENSORFLOW` leaves a user's own `TF_USE_LEGACY_KERAS=1` in force. Raises `AcceleratorError`
    when another Keras is imported already.
    """
    backend = JAX if flavour == JAX else TENSORFLOW
    module = sys.modules.get("keras")
    imported = module.backend.backend() if module and hasattr(module, "backend") else backend
    if imported != backend and not (flavour == LEGACY and "tf_keras" in sys.modules):
        raise _too_early(f"with the {imported} backend", flavour)
    os.environ[BACKEND] = backend
    if flavour == LEGACY and importlib.util.find_spec("tf_keras") is None:
        raise AcceleratorError(NO_LEGACY)
    if flavour != TENSORFLOW:
        os.environ[USE_LEGACY] = "1" if flavour == LEGACY else "0"
    with without_notes():
        from tensorflow import keras

        legacy = keras.layers.Layer.__module__.startswith("tf_keras")
    if legacy != (flavour == LEGACY) and flavour != TENSORFLOW:
        raise _too_early("as tf_keras" if legacy else "as Keras 3", flavour)
    if flavour == JAX:
        _draw_on_host(keras)
    name = "tf_keras" if legacy else "Keras"
    return f"{name} {importlib.metadata.version(name)}"


def _too_early(imported: str, flavour: str) -> AcceleratorError:
    return AcceleratorError(
        f"Keras was imported {imported} before petals.accelerators.detect.detect could choose "
        f"{flavour}: import keras, tensorflow and whatever imports them after detect"
    )


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


def is_jax() -> bool:
    """Whether the Keras in use runs on JAX."""
    from tensorflow import keras

    return hasattr(keras, "config") and keras.config.backend() == JAX


def on_accelerator() -> bool:
    """Whether what Keras's backend computes outside a strategy runs on a TPU or a GPU."""
    if is_jax():
        import jax

        return jax.default_backend() != "cpu"
    import tensorflow as tf

    return bool(tf.config.list_logical_devices("GPU"))


def _draw_on_host(keras: ModuleType) -> None:
    """Have Keras's initializers draw and fill by NumPy from now on, with the same distributions.

    JAX compiles a program for each shape that it draws or fills. EfficientNetB0 and its optimizer
    have two hundred shapes, which take a minute, and pretrained weights replace most of the values.
    The initializers return JAX's arrays, as before. For the same seed JAX would draw other values.
    """
    import jax

    random: Any = sys.modules[keras.initializers.RandomNormal.__module__].random
    if random.normal.__module__ == __name__:
        return

    def placed(values: np.ndarray, dtype: Any) -> Any:
        return jax.device_put(values.astype(keras.backend.standardize_dtype(dtype)))

    def drawing(draw: Callable[..., np.ndarray], original: Any) -> Any:
        def drawn(shape: Any, *, seed: Any = None, dtype: Any = None, **scale: float) -> Any:
            if not isinstance(seed, int):  # a SeedGenerator, whose state JAX holds
                return original(shape, seed=seed, dtype=dtype, **scale)
            return placed(draw(np.random.default_rng(abs(seed)), shape, **scale), dtype)

        return drawn

    for name, draw in _DRAWS.items():
        setattr(random, name, drawing(draw, getattr(random, name)))
    for kind, fill in ((keras.initializers.Zeros, np.zeros), (keras.initializers.Ones, np.ones)):
        kind.__call__ = lambda _, shape, dtype=None, fill=fill: placed(fill(shape), dtype)


def _truncated(generator: np.random.Generator, shape: Any, mean: float, stddev: float) -> Any:
    values = generator.standard_normal(shape)
    while (far := np.abs(values) > TRUNCATED).any():
        values[far] = generator.standard_normal(far.sum())
    return mean + stddev * values


_DRAWS: dict[str, Callable[..., Any]] = {
    "truncated_normal": _truncated,
    "normal": lambda generator, shape, mean, stddev: generator.normal(mean, stddev, shape),
    "uniform": lambda generator, shape, minval, maxval: generator.uniform(minval, maxval, shape),
}
