"""Crop, scale, shear and rotate each picture differently, in two passes.

One pass moves pixels along rows and one along columns; together they make any affine map (Catmull
& Smith, 1980). A pass scales the lines, which mixes two neighbouring pixels, and shifts each line
by quarters of a pixel, which shears the picture. It can be computed in two ways, with the same
result up to rounding:

* gathered: the two pixels are looked up, which suits CPUs and GPUs.
* dense: a product with a matrix of weights, which is fast on a TPU's matrix unit, scales the lines
  at each quarter of a pixel. Then each line selects its quarter, and its shift by whole pixels in a
  few steps with four choices each. Looking up single pixels would be slow on a TPU.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

PARTS = 4  # of a pixel, by which lines are shifted
RADIX = 4  # choices of a step: each step moves the whole batch, and reads it once per choice
ROWS, COLUMNS = 2, 1  # the axis along which pixels move


Function = Callable[..., Any]


@dataclass(frozen=True)
class ArrayOps:
    """The few functions of TensorFlow or JAX that augmentation needs; dtypes are given by name.

    Arithmetic, comparisons and slices are the same in both libraries.
    """

    cast: Function
    reshape: Function
    where: Function
    round: Function
    clip: Function
    mean: Function  # of each image, which keeps its axes
    product: Function  # an einsum, float32
    take: Function  # (n, k, ...) and int32 (n, m): each row's own lines (n, m, ...)


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


def of(array: Any) -> ArrayOps:
    """The functions for an array of TensorFlow, or else of JAX (tracers too)."""
    return TENSORFLOW if tf.is_tensor(array) else _of_jax()


@dataclass(frozen=True)
class Pass:
    """What all pictures have in common: the axis, the largest shift, and the method.

    `bound`: all shifts are smaller than this many pixels; 0 = no line is shifted. `dtype`: the type
    of the pixels while they are mixed.
    """

    axis: int
    bound: int
    dense: bool
    dtype: str

    def move(self, images: Any, slope: Any, scale: Any, centre: Any) -> Any:
        """Pixel u of line v is the original's at scale * (u + shift) + centre in the same line.

        The shift is slope * v, to a quarter of a pixel. `images`: uint8 (n, size, size, 3);
        `slope`, `scale`, `centre`: float32 (n,); u and v count from the middle. Beyond the edge
        lies the picture's reflection. The result is uint8.
        """
        ops = of(images)
        shift = None
        if self.bound:  # one product, nothing added before it is rounded: alike on every runtime
            shift = ops.round(slope[:, None] * (_from_middle(images.shape[self.axis]) * PARTS))
            shift = ops.clip(shift, -PARTS * self.bound, PARTS * self.bound - 1)
        return (self._dense if self.dense else self._gathered)(images, shift, scale, centre)

    def _gathered(self, images: Any, shift: Any, scale: Any, centre: Any) -> Any:
        ops = of(images)
        size = images.shape[self.axis]
        across, along = (None, slice(None)) if self.axis == ROWS else (slice(None), None)
        targets = _from_middle(size)[None, across, along]
        if self.bound:
            targets = targets + (shift * (1 / PARTS))[:, along, across]
        at = _positions(ops, targets, scale[:, None, None], centre[:, None, None], size)
        first = ops.cast(at, "int32")
        share = ops.cast(at - ops.cast(first, "float32"), self.dtype)[..., None]
        near, far = (
            ops.cast(self._pixels(images, index), self.dtype)
            for index in (first, ops.clip(first + 1, 0, size - 1))
        )
        return rounded(ops, near + (far - near) * share)

    def _pixels(self, images: Any, index: Any) -> Any:
        """The pixels at int32 (n, height or 1, width or 1) positions along the axis."""
        ops = of(images)
        size = images.shape[self.axis]
        lines = np.arange(size, dtype=np.int32)
        if self.axis == COLUMNS:
            index = index * size + lines[None, None, :]
        else:
            index = index + lines[None, :, None] * size
        flat = ops.reshape(images, (-1, size * size, 3))
        pixels = ops.take(flat, ops.reshape(index, (-1, size * size)))
        return ops.reshape(pixels, (-1, size, size, 3))

    def _dense(self, images: Any, shift: Any, scale: Any, centre: Any) -> Any:
        ops = of(images)
        size = images.shape[self.axis]
        bound = self.bound
        steps = _steps(2 * bound)
        wide, parts = (size + _reach(steps), PARTS) if bound else (size, 1)
        beyond = np.arange(wide, dtype=np.float32) - np.float32((size - 1) / 2 + bound)
        targets = np.concatenate([beyond + np.float32(part / parts) for part in range(parts)])
        at = _positions(ops, targets[None, :], scale[:, None], centre[:, None], size)
        weights = ops.clip(1.0 - abs(at[:, :, None] - np.arange(size, dtype=np.float32)), 0.0, 1.0)
        how = "nohc,nio->nihc" if self.axis == COLUMNS else "nhoc,nio->nhic"
        pixels = ops.product(how, ops.cast(images, self.dtype), ops.cast(weights, self.dtype))
        pixels = rounded(ops, pixels)
        if not bound:
            return pixels
        shift = ops.cast(shift, "int32") + PARTS * bound
        pixels = self._chosen(pixels, shift % PARTS, wide, parts, wide)
        whole = shift // PARTS
        for number, (step, options) in enumerate(steps, 1):
            length = size + _reach(steps[number:])
            pixels = self._chosen(pixels, whole // step, step, options, length)
            whole = whole % step
        return pixels

    def _chosen(self, images: Any, which: Any, step: int, options: int, length: int) -> Any:
        """`length` pixels of each line, from `which` (n, lines) times `step` on."""

        def cut(begin: int) -> Any:
            part = slice(begin, begin + length)
            return images[:, part] if self.axis == COLUMNS else images[:, :, part]

        which = which[:, None, :, None] if self.axis == COLUMNS else which[:, :, None, None]
        pixels = cut(0)
        for number in range(1, options):
            pixels = of(images).where(which >= number, cut(number * step), pixels)
        return pixels


def rounded(ops: ArrayOps, pixels: Any) -> Any:
    """The nearest uint8 of each value."""
    return ops.cast(ops.round(ops.clip(pixels, 0, 255)), "uint8")


def _from_middle(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)


def _positions(ops: ArrayOps, targets: Any, scale: Any, centre: Any, size: int) -> Any:
    """Where in a line the pixels at `targets` come from: numbers from 0 to size - 1."""
    at = abs(scale * targets + (centre + size / 2)) - 0.5  # reflected at the first edge
    at = (size - 0.5) - abs((size - 0.5) - at)  # and at the last
    return ops.clip(at, 0.0, size - 1.0)


def _steps(values: int) -> list[tuple[int, int]]:
    """(pixels, how many times at most + 1) of the steps whose sums are 0 to `values` - 1."""
    steps = []
    while values > 1:
        step = math.ceil(values / RADIX)
        steps.append((step, math.ceil(values / step)))
        values = step
    return steps


def _reach(steps: list[tuple[int, int]]) -> int:
    """The most pixels by which the steps shift together."""
    return sum(step * (options - 1) for step, options in steps)
