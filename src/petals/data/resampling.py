"""Crop, scale, shear and turn pictures, each its own way, by one pass along rows and one along
columns, which together make any affine map (Catmull & Smith, 1980).

A pass shears the lines and then scales them; both mix two neighbouring pixels. It can be computed
in two ways with the same result up to rounding:

* gathered: the pixels are looked up. CPUs and GPUs are good at that.
* dense: the lines are shifted by 1, 2, 4 … pixels in turn, each taking the shifts that add up to
  its own; the scale is a product with a matrix of weights, which a TPU's matrix unit does in no
  time. Looking up single pixels would keep a TPU waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from petals.data.array_ops import ArrayOps, of


@dataclass(frozen=True)
class Bounds:
    """How far a pass may look beyond the picture, in pixels: bounds known before any image is."""

    shear: int = 0  # a line is shifted by less than this, either way; 0 = no line is
    scale: int = 0  # a scaled line begins and ends at most so far outside


def along_rows(
    images: Any, slope: Any, scale: Any, centre: Any, bounds: Bounds, dense: bool, dtype: str
) -> Any:
    """Pixel u of row v is the original's at scale * u + centre + slope * v in the same row.

    `images`: uint8 (n, size, size, 3); `slope`, `scale`, `centre`: float32 (n,); u and v count
    from the middle. Beyond the edge lies the picture's reflection. The result is of `dtype`.
    """
    return _pass(images, slope, scale, centre, bounds, 2, dense, dtype)


def along_columns(
    images: Any, slope: Any, scale: Any, centre: Any, bounds: Bounds, dense: bool, dtype: str
) -> Any:
    """Pixel v of column u is the original's at scale * v + centre + slope * u in the same column.

    The arguments are those of `along_rows`.
    """
    return _pass(images, slope, scale, centre, bounds, 1, dense, dtype)


def _pass(
    images: Any,
    slope: Any,
    scale: Any,
    centre: Any,
    bounds: Bounds,
    axis: int,
    dense: bool,
    dtype: str,
) -> Any:
    ops, size = of(images), images.shape[axis]
    from_middle = ops.arange(size) - (size - 1) / 2
    at = scale[:, None] * from_middle + (centre[:, None] + (size - 1) / 2)
    at = ops.minimum(ops.maximum(at, -bounds.scale), size - 1.0 + bounds.scale)
    shift = slope[:, None] * from_middle
    shift = ops.minimum(ops.maximum(shift, -bounds.shear), bounds.shear - 1e-3)
    way = _dense if dense else _gathered
    return way(ops, images, at, shift, bounds, axis, dtype)


def _gathered(
    ops: ArrayOps, images: Any, at: Any, shift: Any, bounds: Bounds, axis: int, dtype: str
) -> Any:
    begin, whole = ops.floor(at), ops.floor(shift)
    inner = _along(ops.cast(at - begin, dtype), axis)
    first = _index(ops, begin, axis)
    if not bounds.shear:
        one, other = (ops.cast(_look_up(ops, images, first + k, axis), dtype) for k in range(2))
        return one + (other - one) * inner
    share = _of_lines(ops.cast(shift - whole, dtype), axis)
    first = first + _index(ops, whole, 3 - axis)
    # Two shifted neighbours, each mixed from two: three pixels in all.
    one, two, three = (ops.cast(_look_up(ops, images, first + k, axis), dtype) for k in range(3))
    left, right = one + (two - one) * share, two + (three - two) * share
    return left + (right - left) * inner


def _index(ops: ArrayOps, values: Any, axis: int) -> Any:
    values = ops.cast(values, "int32")
    return values[:, :, None] if axis == 1 else values[:, None, :]


def _look_up(ops: ArrayOps, images: Any, index: Any, axis: int) -> Any:
    """The pixels of int32 (n, height or 1, width or 1) positions along the axis, reflected."""
    size = images.shape[axis]
    index = ops.where(index < 0, -1 - index, index)
    index = ops.where(index >= size, 2 * size - 1 - index, index)
    lines = ops.cast(ops.arange(size), "int32")
    flat = index * size + lines[None, None, :] if axis == 1 else index + lines[None, :, None] * size
    found = ops.take(
        ops.reshape(images, (-1, size * size, 3)), ops.reshape(flat, (-1, size * size))
    )
    return ops.reshape(found, (-1, size, size, 3))


def _dense(
    ops: ArrayOps, images: Any, at: Any, shift: Any, bounds: Bounds, axis: int, dtype: str
) -> Any:
    images = _padded(ops, images, bounds.scale + bounds.shear, axis)
    if bounds.shear:
        whole = ops.floor(shift)
        share = _of_lines(ops.cast(shift - whole, dtype), axis)
        whole = ops.cast(whole, "int32") + bounds.shear
        images = _shifted(ops, images, whole, 2 * bounds.shear - 1, axis)
        images = ops.cast(images, dtype)
        one, other = _cut(images, 0, -1, axis), _cut(images, 1, None, axis)
        images = one + (other - one) * share
    there = ops.arange(images.shape[axis]) - bounds.scale
    weights = ops.maximum(1.0 - abs(at[:, :, None] - there), 0.0)
    how = "nohc,nio->nihc" if axis == 1 else "nhoc,nio->nhic"
    return ops.einsum(how, ops.cast(images, dtype), ops.cast(weights, dtype))


def _padded(ops: ArrayOps, images: Any, margin: int, axis: int) -> Any:
    """With the reflection of `margin` pixels before the axis, and one more behind."""
    size = images.shape[axis]
    behind = margin + 1
    flipped = images[:, ::-1] if axis == 1 else images[:, :, ::-1]
    return ops.concat(
        [_cut(flipped, size - margin, None, axis), images, _cut(flipped, 0, behind, axis)], axis
    )


def _shifted(ops: ArrayOps, images: Any, whole: Any, most: int, axis: int) -> Any:
    """Each line without its first `whole` pixels, all cut to the same length.

    `whole`: int32 (n, lines) from 0 to `most`.
    """
    powers = int(math.log2(most + 1))
    left = most - (2**powers - 1)  # powers of two add up to anything but these last ones
    steps = [(left, 2**powers)] * bool(left) + [(2**k, 2**k) for k in reversed(range(powers))]
    for step, needed_from in steps:
        taken = whole >= needed_from
        near, far = _cut(images, 0, -step, axis), _cut(images, step, None, axis)
        images = ops.where(_of_lines(taken, axis), far, near)
        whole = whole - ops.cast(taken, "int32") * step
    return images


def _along(values: Any, axis: int) -> Any:
    return values[:, :, None, None] if axis == 1 else values[:, None, :, None]


def _of_lines(values: Any, axis: int) -> Any:
    return _along(values, 3 - axis)


def _cut(images: Any, begin: int, end: int | None, axis: int) -> Any:
    return images[:, begin:end] if axis == 1 else images[:, :, begin:end]
