"""The few array functions that augmentation needs, for TensorFlow and for JAX.

`of` returns the functions of an array's library. Arithmetic, comparisons and slices are the same in
both libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class ArrayOps:
    """One library's functions; dtypes are given by name."""

    cast: Callable[[Any, str], Any]
    reshape: Callable[[Any, tuple[int, ...]], Any]
    where: Callable[[Any, Any, Any], Any]
    round: Callable[[Any], Any]
    clip: Callable[[Any, Any, Any], Any]
    mean: Callable[[Any], Any]  # of each image, which keeps its axes
    product: Callable[[str, Any, Any], Any]  # an einsum, float32
    take: Callable[
        [Any, Any], Any
    ]  # (n, k, ...) and int32 (n, m): each row's own lines (n, m, ...)


def of(array: Any) -> ArrayOps:
    """The functions for an array of TensorFlow, or else of JAX (tracers too)."""
    return TENSORFLOW if tf.is_tensor(array) else _of_jax()


TENSORFLOW = ArrayOps(
    cast=tf.cast,
    reshape=tf.reshape,
    where=tf.where,
    round=tf.round,
    clip=tf.clip_by_value,
    mean=lambda x: tf.reduce_mean(x, (1, 2, 3), keepdims=True),
    product=lambda how, x, y: tf.cast(tf.einsum(how, x, y), tf.float32),
    take=lambda x, index: tf.gather(x, index, axis=1, batch_dims=1),
)


@cache
def _of_jax() -> ArrayOps:
    import jax
    import jax.numpy as jnp

    return ArrayOps(
        cast=lambda x, dtype: x.astype(dtype),
        reshape=jnp.reshape,
        where=jnp.where,
        round=jnp.round,
        clip=jnp.clip,
        mean=lambda x: jnp.mean(x, (1, 2, 3), keepdims=True),
        product=lambda how, x, y: jnp.einsum(how, x, y, preferred_element_type=jnp.float32),
        take=jax.vmap(lambda rows, index: rows.at[index].get(mode="promise_in_bounds")),
    )
