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
            f"layer_decay={decay}: {network.name} is not a transformer of keras_hub, so it has no "
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
        self._shares_by_key: dict[Any, float] = {}

    def build(self, variables: list[Any]) -> None:
        """Note the share of each variable by the key that Keras has for it on every device."""
        super().build(variables)
        for variable in variables:
            share = self._shares.get(id(variable), 1.0)
            self._shares_by_key[self._var_key(variable)] = share

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Change a variable by its share of the rate, after it has lost its share of the decay."""
        rate = learning_rate * self._shares_by_key[self._var_key(variable)]
        if self.weight_decay and self._use_weight_decay(variable):
            lost = keras.ops.cast(rate * self.weight_decay, variable.dtype)
            self.assign_sub(variable, keras.ops.multiply(variable, lost))
        super().update_step(gradient, variable, rate)

    def _apply_weight_decay(self, variables: Any) -> None:
        """Nothing: `update_step` does it, where the share is known."""
