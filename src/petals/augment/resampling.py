"""Crop, scale, shear and turn pictures, each its own way, by one pass along rows and one along
columns, which together make any affine map (Catmull & Smith, 1980).

A pass scales the lines, which mixes two neighbouring pixels, and shifts each line by quarters of
a pixel, which shears the picture. It can be computed in two ways with the same result up to
rounding:

* gathered: the two pixels are looked up. CPUs and GPUs are good at that.
* dense: a product with a matrix of weights, which a TPU's matrix unit does in no time, scales the
  lines, at each quarter of a pixel. Then every line chooses its quarter, and its shift by whole
  pixels in a few steps, each a choice of four. Looking up single pixels would keep a TPU waiting.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from petals.augment.arrays import ArrayOps, of

PARTS = 4  # of a pixel, by which lines are shifted
RADIX = 4  # choices of a step: each step moves the whole batch, and reads it once a choice


def along_rows(
    images: Any, slope: Any, scale: Any, centre: Any, bound: int, dense: bool, dtype: str
) -> Any:
    """Pixel u of row v is the original's at scale * (u + shift) + centre in the same row.

    The shift is slope * v, to a quarter of a pixel, and less than `bound` pixels either way; 0 =
    no row is shifted. `images`: uint8 (n, size, size, 3); `slope`, `scale`, `centre`: float32
    (n,); u and v count from the middle. Beyond the edge lies the picture's reflection. The result
    is uint8; `dtype`: of the pixels while they are mixed.
    """
    return _pass(images, slope, scale, centre, bound, 2, dense, dtype)


def along_columns(
    images: Any, slope: Any, scale: Any, centre: Any, bound: int, dense: bool, dtype: str
) -> Any:
    """Pixel v of column u is the original's at scale * (v + shift) + centre in the same column.

    The shift is slope * u; the arguments are those of `along_rows`.
    """
    return _pass(images, slope, scale, centre, bound, 1, dense, dtype)


def rounded(ops: ArrayOps, pixels: Any) -> Any:
    """The nearest uint8 of each value."""
    return ops.cast(ops.round(ops.minimum(ops.maximum(pixels, 0), 255)), "uint8")


def _pass(
    images: Any, slope: Any, scale: Any, centre: Any, bound: int, axis: int, dense: bool, dtype: str
) -> Any:
    ops, size = of(images), images.shape[axis]
    shift = None
    if bound:  # one product and nothing added before it is rounded: the same on every runtime
        shift = ops.round(slope[:, None] * (_from_middle(size) * PARTS))
        shift = ops.minimum(ops.maximum(shift, -PARTS * bound), PARTS * bound - 1)
    way = _dense if dense else _gathered
    return way(ops, images, shift, scale, centre, bound, axis, dtype)


def _from_middle(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)


def _positions(ops: ArrayOps, wanted: Any, scale: Any, centre: Any, size: int) -> Any:
    """Where in a line the wanted pixels come from: numbers from 0 to size - 1."""
    at = scale * wanted + (centre + (size - 1) / 2)
    at = ops.where(at < -0.5, -1 - at, at)
    at = ops.where(at > size - 0.5, 2 * size - 1 - at, at)
    return ops.minimum(ops.maximum(at, 0), size - 1)  # an edge and its reflection are alike


def _gathered(
    ops: ArrayOps,
    images: Any,
    shift: Any,
    scale: Any,
    centre: Any,
    bound: int,
    axis: int,
    dtype: str,
) -> Any:
    size = images.shape[axis]
    across, along = (None, slice(None)) if axis == 2 else (slice(None), None)
    wanted = _from_middle(size)[None, across, along]
    if bound:
        wanted = wanted + (shift * (1 / PARTS))[:, along, across]
    at = _positions(ops, wanted, scale[:, None, None], centre[:, None, None], size)
    first = ops.floor(at)
    inner = ops.cast(at - first, dtype)[..., None]
    first = ops.cast(first, "int32")
    second = ops.minimum(first + 1, size - 1)
    one, other = (ops.cast(_look_up(ops, images, k, axis), dtype) for k in (first, second))
    return rounded(ops, one + (other - one) * inner)


def _look_up(ops: ArrayOps, images: Any, index: Any, axis: int) -> Any:
    """The pixels of int32 (n, height or 1, width or 1) positions along the axis."""
    size = images.shape[axis]
    lines = np.arange(size, dtype=np.int32)
    flat = index * size + lines[None, None, :] if axis == 1 else index + lines[None, :, None] * size
    found = ops.take(
        ops.reshape(images, (-1, size * size, 3)), ops.reshape(flat, (-1, size * size))
    )
    return ops.reshape(found, (-1, size, size, 3))


def _dense(
    ops: ArrayOps,
    images: Any,
    shift: Any,
    scale: Any,
    centre: Any,
    bound: int,
    axis: int,
    dtype: str,
) -> Any:
    size, steps = images.shape[axis], _steps(2 * bound)
    wide, parts = (size + _reach(steps), PARTS) if bound else (size, 1)
    beyond = np.arange(wide, dtype=np.float32) - np.float32((size - 1) / 2 + bound)
    wanted = np.concatenate([beyond + np.float32(part / parts) for part in range(parts)])
    at = _positions(ops, wanted[None, :], scale[:, None], centre[:, None], size)
    weights = ops.maximum(1.0 - abs(at[:, :, None] - ops.arange(size)), 0.0)
    how = "nohc,nio->nihc" if axis == 1 else "nhoc,nio->nhic"
    pixels = rounded(ops, ops.product(how, ops.cast(images, dtype), ops.cast(weights, dtype)))
    if not bound:
        return pixels
    shift = ops.cast(shift, "int32") + PARTS * bound
    pixels = _chosen(ops, pixels, shift % PARTS, wide, parts, wide, axis)
    whole = shift // PARTS
    for number, (step, options) in enumerate(steps, 1):
        length = size + _reach(steps[number:])
        pixels = _chosen(ops, pixels, whole // step, step, options, length, axis)
        whole = whole % step
    return pixels


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


def _chosen(
    ops: ArrayOps, images: Any, which: Any, step: int, options: int, length: int, axis: int
) -> Any:
    """`length` pixels of each line, from `which` (n, lines) times `step` on."""
    which = which[:, None, :, None] if axis == 1 else which[:, :, None, None]
    found = _cut(images, 0, length, axis)
    for number in range(1, options):
        found = ops.where(which >= number, _cut(images, number * step, length, axis), found)
    return found


def _cut(images: Any, begin: int, length: int, axis: int) -> Any:
    end = begin + length
    return images[:, begin:end] if axis == 1 else images[:, :, begin:end]
