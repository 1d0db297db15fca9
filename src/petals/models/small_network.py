"""A small convolutional network that learns from scratch in a minute on two cores."""

from __future__ import annotations

from tensorflow import keras

_WIDTHS = (24, 48, 96, 192, 256)  # feature maps; the first four also halve the image


def small_network(input_shape: tuple[int, int, int] = (192, 192, 3)) -> keras.Model:
    """The backbone: pooling, then five 3 × 3 convolutions, each with BatchNorm and ReLU.

    The convolutions are plain, because on CPUs depthwise convolutions take longer to train for the
    same score. Pooling 2 × 2 and four strides of 2 reduce a 192-pixel image to 6 × 6 × 256; the
    head takes the global average of these features. The network has 0.66 million weights.

    Args:
        input_shape: (height, width, 3), channels last; images are float in -1..1.

    Returns:
        A model from (batch, height, width, 3) to (batch, height/32, width/32, 256), without head.
    """
    images = keras.Input(input_shape)
    features = keras.layers.AveragePooling2D(2)(images)
    for number, width in enumerate(_WIDTHS):
        features = keras.layers.Conv2D(
            width, 3, strides=2 if number < 4 else 1, padding="same", use_bias=False
        )(features)
        # Momentum 0.9: training has only a few hundred steps to follow the statistics.
        features = keras.layers.BatchNormalization(momentum=0.9)(features)
        features = keras.layers.ReLU()(features)
    return keras.Model(images, features, name="small_network")
