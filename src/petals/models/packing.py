"""A network whose first layers fill the channels of a TPU: the same layers, computed on blocks.

A chip computes on 128 channels at a time, and the first layers of MobileNet and EfficientNet have
3 to 96 of them, on the largest maps. `packed` moves blocks of 4 x 4 pixels into the channels before
the first strided convolution. That leaves blocks of 2 x 2, and the next strided one single pixels.
A convolution of pixels is one of blocks whose larger kernel is mostly zeros: the sums stay the
same, and the chip has multiplications to spare (docs/appendix/tpu.md).
"""

from typing import Any

import numpy as np
from tensorflow import keras

STEM = 4  # pixels to a side of the first blocks: two strided convolutions lead to single pixels
COLOURS = 3
BY_ELEMENT = ("Activation", "Dropout", "ReLU")  # layers that treat every element alike


class CannotPackError(Exception):
    """A layer on blocks is unknown here, or no strided convolution ends the blocks."""


def packed(network: keras.Model) -> keras.Model:
    """The network with its first layers on blocks, or `network` itself where that cannot be.

    Both share the layers, and `weights` has the same order. BatchNorm layers that are frozen, as
    fine-tuning leaves them, cost nothing more.
    """
    packing = _Packing()
    try:
        result = keras.models.clone_model(network, None, lambda layer: layer, packing)
        return packing.checked(result)
    except CannotPackError:
        return network


def on_tpu() -> bool:
    """Whether Keras computes on a TPU through JAX."""
    if not hasattr(keras, "config") or keras.config.backend() != "jax":
        return False
    import jax

    return jax.default_backend() == "tpu"


class _Packing:
    """Calls the layers of a network one by one, on pixels or on blocks of them."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[Any, int]] = {}  # by id: a tensor, and its blocks' side
        self._padded: dict[int, tuple[Any, Any]] = {}  # by id: what was padded, and how

    def __call__(self, layer: keras.layers.Layer, inputs: Any, *rest: Any, **options: Any) -> Any:
        kind = type(layer).__name__
        tensors = inputs if isinstance(inputs, list) else [inputs]
        source, padding = self._padded.get(id(inputs), (inputs, None))
        side = max(map(self._side, [*tensors, source]))
        if kind in ("Conv2D", "DepthwiseConv2D"):
            begins = not self._blocks and layer.strides == (2, 2) and source.shape[-1] == COLOURS
            if begins or side > 1:
                return self._convolved(layer, source, padding, STEM if begins else side)
        if kind == "ZeroPadding2D":
            outputs = layer(inputs)
            self._padded[id(outputs)] = (inputs, layer.padding)  # a convolution pads by itself
            return outputs
        if side == 1:
            return layer(inputs, *rest, **options)
        return self._on_blocks(layer, kind, tensors, side)

    def checked(self, result: keras.Model) -> keras.Model:
        """The packed network; raises unless it has blocks, and none of its outputs has."""
        if not self._blocks or any(self._side(output) > 1 for output in result.outputs):
            raise CannotPackError
        return result

    def _side(self, tensor: Any) -> int:
        return self._blocks.get(id(tensor), (tensor, 1))[1]

    def _note(self, tensor: Any, side: int) -> Any:
        self._blocks[id(tensor)] = (tensor, side)
        return tensor

    def _convolved(self, layer: Any, source: Any, padding: Any, side: int) -> Any:
        (size, _), (stride, _) = layer.kernel_size, layer.strides
        same = max(size - stride, 0)  # pixels that "same" adds to an even number of them
        before, after = padding[0] if padding else (same // 2, same - same // 2)
        fits = (
            (size == 1 or layer.padding == ("valid" if padding else "same"))
            and before + after == same
            and (padding is None or padding[0] == padding[1])
            and layer.kernel_size == (size, size)
            and layer.dilation_rate == (1, 1)
            and getattr(layer, "groups", 1) == getattr(layer, "depth_multiplier", 1) == 1
            and None not in source.shape[1:3]
        )
        if self._side(source) == 1:
            fits = fits and source.shape[1] % side == source.shape[2] % side == 0
            source = blocks(source, side) if fits else source
        if not fits:
            raise CannotPackError
        return self._note(OnBlocks(layer, side, before)(source), side // stride)

    def _on_blocks(self, layer: Any, kind: str, tensors: list[Any], side: int) -> Any:
        if kind == "BatchNormalization":
            return self._note(OnBlocks(layer, side)(*tensors), side)
        if kind in BY_ELEMENT:
            return self._note(layer(*tensors), side)
        if kind in ("Add", "Multiply"):
            # a factor for each channel is one for each of a block's pixels
            tensors = [each if self._side(each) > 1 else _repeated(each, side) for each in tensors]
            return self._note(layer(tensors), side)
        if kind == "GlobalAveragePooling2D":
            means = layer(*tensors)
            shape = (-1, *means.shape[1:-1], side**2, means.shape[-1] // side**2)
            return keras.ops.mean(keras.ops.reshape(means, shape), axis=-2)
        raise CannotPackError


def blocks(pixels: Any, side: int) -> Any:
    """(n, height, width, channels) as (n, height / side, width / side, side * side * channels)."""
    _, height, width, channels = pixels.shape
    shape = (-1, height // side, side, width // side, side, channels)
    split = keras.ops.transpose(keras.ops.reshape(pixels, shape), (0, 1, 3, 2, 4, 5))
    return keras.ops.reshape(split, (-1, height // side, width // side, side**2 * channels))


def _repeated(factors: Any, side: int) -> Any:
    return keras.ops.tile(factors, (1,) * (len(factors.shape) - 1) + (side**2,))


@keras.utils.register_keras_serializable("petals")
class OnBlocks(keras.layers.Layer):
    """A convolution or BatchNorm layer of a network, applied to blocks of side * side pixels.

    `before`: the zeros above and left of the image that the convolution reads, in pixels.
    """

    def __init__(self, layer: keras.layers.Layer, side: int, before: int = 0, **options: Any):
        super().__init__(**{"name": f"{layer.name}_on_blocks", **options})
        self.layer = layer
        self.side = side
        self.before = before

    def build(self, input_shape: tuple[int, ...]) -> None:
        """Build the layer within, which a copy of the network has to."""
        if not self.layer.built:
            self.layer.build((*input_shape[:3], input_shape[3] // self.side**2))

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """(n, rows, columns, side * side * channels), and the same after the layer."""
        if isinstance(self.layer, keras.layers.BatchNormalization):
            return self._normalized(inputs, training)
        return self._convolved(inputs)

    def _normalized(self, inputs: Any, training: bool | None) -> Any:
        layer = self.layer
        channels = inputs.shape[-1] // self.side**2
        if training and layer.trainable:  # its statistics are those of all pixels
            pixels = keras.ops.reshape(inputs, (-1, 1, 1, channels))
            return keras.ops.reshape(layer(pixels, training=True), keras.ops.shape(inputs))
        values = (layer.moving_mean, layer.moving_variance, layer.beta, layer.gamma)
        mean, variance, beta, gamma = (v if v is None else _repeated(v, self.side) for v in values)
        outputs = keras.ops.batch_normalization(
            keras.ops.cast(inputs, "float32"), mean, variance, -1, beta, gamma, layer.epsilon
        )
        return keras.ops.cast(outputs, self.compute_dtype)

    def _convolved(self, inputs: Any) -> Any:
        layer = self.layer
        kernel = self.layer.kernel
        side = self.side // self.layer.strides[0]
        if "Depthwise" in type(layer).__name__:  # one of all channels, most of whose kernel is zero
            kernel = kernel * keras.ops.eye(kernel.shape[2], dtype=kernel.dtype)
        first, taps = self._taps(kernel.shape[0], side)
        ones = keras.ops.cast(taps, kernel.dtype)
        kernel = keras.ops.einsum("bria,csjd,adxy->bcrsxijy", ones, ones, kernel)
        count = len(taps)
        width = side**2 * kernel.shape[-1]
        kernel = keras.ops.reshape(kernel, (count, count, inputs.shape[-1], width))
        beside = (-first, count - 1 + first)
        padded = keras.ops.pad(inputs, ((0, 0), beside, beside, (0, 0)))
        outputs = keras.ops.conv(padded, kernel, padding="valid", data_format="channels_last")
        if layer.use_bias:
            outputs = outputs + _repeated(layer.bias, side)
        return layer.activation(outputs)

    def _taps(self, size: int, side: int) -> tuple[int, np.ndarray]:
        """The first block that a block of results reads, from its own, and where each tap reads.

        The array is 1 at [block, pixel of it, pixel of the result, tap], else 0; along one axis.
        """
        stride = self.side // side
        result, tap = np.ogrid[:side, :size]
        place = stride * result + tap - self.before  # pixels from the block's first
        first = int(place.min()) // self.side
        taps = np.zeros((int(place.max()) // self.side - first + 1, self.side, side, size))
        taps[place // self.side - first, place % self.side, result, tap] = 1
        return first, taps

    def get_config(self) -> dict[str, Any]:
        """What Keras needs to copy it."""
        layer = keras.utils.serialize_keras_object(self.layer)
        return {**super().get_config(), "layer": layer, "side": self.side, "before": self.before}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "OnBlocks":
        """The layer of a configuration, with weights of its own."""
        return cls(**config | {"layer": keras.utils.deserialize_keras_object(config["layer"])})
