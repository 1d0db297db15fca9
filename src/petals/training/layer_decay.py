"""Layer-wise decay of the learning rate: the lower a transformer's block, the less it changes.

The first blocks of a pretrained network see edges and colours, which new photos share, and the last
ones what its own training asked for. So each block learns at a share of the rate of the block above
it (Howard & Ruder, 2018; Bao et al., 2022, for vision transformers).
"""

from typing import Any

from tensorflow import keras

from petals.errors import SettingError
from petals.models.depths import blocks


def rate_shares(network: keras.Model, decay: float) -> dict[int, float]:
    """The share of the learning rate that each variable of a network gets, by `id(variable)`.

    `decay` in (0, 1]: with N blocks, it is decay**(N - i) in block i, counted from 0, and
    decay**(N + 1) before the first block; what follows the last block has the whole rate. Raises
    `SettingError` for a network without blocks.
    """
    inner = blocks(network)
    if not inner:
        raise SettingError(
            f"layer_decay={decay}: {network.name} is no transformer of keras_hub, so it has no "
            "blocks to tell apart: set layer_decay=1.0"
        )
    shares = {}
    for number, block in enumerate(inner):
        for variable in block.weights:
            shares[id(variable)] = decay ** (len(inner) - number)
    for variable in network.weights:
        if variable is inner[0].weights[0]:
            break
        shares.setdefault(id(variable), decay ** (len(inner) + 1))
    return shares


class LayerWiseAdamW(keras.optimizers.AdamW):
    """AdamW (Loshchilov & Hutter, 2019) whose rate and decay of weights differ by block.

    `shares` as from `rate_shares`; a variable that is not in it, such as the head's, has the whole
    rate. For Keras 3, which has the transformers.
    """

    def __init__(self, learning_rate: Any, shares: dict[int, float], **options: Any) -> None:
        super().__init__(learning_rate, **options)
        self._shares = shares

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Change a variable by its share of the rate."""
        share = self._shares.get(id(variable), 1.0)
        super().update_step(gradient, variable, learning_rate * share)

    def _apply_weight_decay(self, variables: Any) -> None:
        """As Keras does, with the variable's share of the rate."""
        if self.weight_decay is None:
            return
        for variable in variables:
            if self._use_weight_decay(variable):
                rate = keras.ops.cast(self.learning_rate, variable.dtype)
                share = self._shares.get(id(variable), 1.0)
                lost = keras.ops.cast(self.weight_decay, variable.dtype) * rate * share
                variable.assign(variable - variable * lost)
