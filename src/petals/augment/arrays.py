"""The few array functions that augmentation is written in, of TensorFlow and of JAX.

`of` finds those of an array's library. What NumPy, TensorFlow and JAX write alike (arithmetic,
comparisons, slices) needs no function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class ArrayOps:
    """One library's functions; dtypes are given by name.

    `take(x, index)`: x (n, k, ...), index int32 (n, m) to (n, m, ...), each row's own lines.
    """

    arange: Callable[[int], Any]  # float32 0 .. n - 1
    cast: Callable[[Any, str], Any]
    reshape: Callable[[Any, tuple[int, ...]], Any]
    where: Callable[[Any, Any, Any], Any]
    floor: Callable[[Any], Any]
    round: Callable[[Any], Any]
    minimum: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    mean: Callable[[Any, tuple[int, ...]], Any]  # over these axes, which stay as 1
    product: Callable[[str, Any, Any], Any]  # an einsum, float32
    take: Callable[[Any, Any], Any]


def of(array: Any) -> ArrayOps:
    """The functions for an array of TensorFlow, or else of JAX (tracers too)."""
    return TENSORFLOW if tf.is_tensor(array) else _of_jax()


TENSORFLOW = ArrayOps(
    arange=lambda count: tf.range(count, dtype=tf.float32),
    cast=tf.cast,
    reshape=tf.reshape,
    where=tf.where,
    floor=tf.floor,
    round=tf.round,
    minimum=tf.minimum,
    maximum=tf.maximum,
    mean=lambda x, axes: tf.reduce_mean(x, axes, keepdims=True),
    product=lambda how, x, y: tf.cast(tf.einsum(how, x, y), tf.float32),
    take=lambda x, index: tf.gather(x, index, axis=1, batch_dims=1),
)


def _of_jax() -> ArrayOps:
    import jax
    import jax.numpy as jnp

    return ArrayOps(
        arange=lambda count: jnp.arange(count, dtype=jnp.float32),
        cast=lambda x, dtype: x.astype(dtype),
        reshape=jnp.reshape,
        where=jnp.where,
        floor=jnp.floor,
        round=jnp.round,
        minimum=jnp.minimum,
        maximum=jnp.maximum,
        mean=lambda x, axes: jnp.mean(x, axes, keepdims=True),
        product=lambda how, x, y: jnp.einsum(how, x, y, preferred_element_type=jnp.float32),
        take=jax.vmap(lambda rows, index: rows.at[index].get(mode="promise_in_bounds")),
    )
