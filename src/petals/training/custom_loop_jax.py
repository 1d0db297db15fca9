"""A training step on JAX: a pure function of the state, compiled for all devices at once.

The program is written as for one device. The batches are divided among the devices ("sharded") and
each device has the whole state ("replicated"). From that, XLA derives where to sum over the devices
to get the mean over the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tensorflow import keras

from petals.accelerators import keras_backend

State = dict[str, list[jax.Array]]  # the values of the variables, by kind


class JaxSteps:
    """The steps of a compiled model, on all devices that JAX has."""

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        keras_backend.build_optimizer(model)
        mesh = Mesh(np.array(jax.devices()), ("batch",))
        self._sharded = NamedSharding(mesh, PartitionSpec("batch"))  # along its first axis
        replicated = NamedSharding(mesh, PartitionSpec())
        # The old state is donated, so that the new one can reuse its memory.
        self._step = jax.jit(partial(_step, model), donate_argnums=0, out_shardings=replicated)
        model._jax_state_synced = True  # the variables have the current values

    def batches(self, dataset: Any) -> Iterator[Any]:
        """The dataset's batches; with several hosts, each provides its part of a batch."""
        return iter(dataset)

    def step(self, batch: Any) -> tuple[float, float]:
        """Update the state with one batch; returns the batch's mean loss and accuracy before
        that."""
        images, labels = jax.tree.map(
            lambda part: jax.make_array_from_process_local_data(self._sharded, part.numpy()), batch
        )
        model = self.model
        if model._jax_state_synced:  # at first, and after a callback asked for it
            variables = {
                "trainable_variables": model.trainable_variables,
                "non_trainable_variables": model.non_trainable_variables,  # also dropout's seeds
                "optimizer_variables": model.optimizer.variables,
            }
            self._state = {kind: [v.value for v in group] for kind, group in variables.items()}
        self._state, loss, accuracy = self._step(self._state, images, labels)
        # Copying the state back into the variables takes milliseconds, so it stays out of them
        # while steps follow each other. This is where Keras's `fit` leaves it, too: a callback that
        # saves the model in mid-epoch has `jax_state_sync` fetch it from there.
        model._jax_state, model._jax_state_synced = self._state, False
        return float(loss), float(accuracy)

    def sync(self) -> None:
        """Copy the state back into the model's variables."""
        self.model.jax_state_sync()


def _step(
    model: keras.Model, state: State, images: Any, labels: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    """The state after a batch, and the batch's mean loss and accuracy."""

    def loss_of(weights: list[jax.Array]) -> tuple[jax.Array, tuple]:
        probabilities, others = model.stateless_call(
            weights, state["non_trainable_variables"], images, training=True
        )
        # Over the whole batch, as if it were on one device.
        loss = jnp.mean(model.loss.call(labels, probabilities))
        # Small gradients vanish in float16: its optimizer multiplies the loss by a factor, which
        # is part of the state, and divides the gradients. For other dtypes this changes nothing.
        values = zip(model.optimizer.variables, state["optimizer_variables"], strict=True)
        with keras.StatelessScope(state_mapping=list(values)):
            scaled = model.optimizer.scale_loss(loss)
        return scaled, (loss, probabilities, others)

    weights = state["trainable_variables"]
    gradients, (loss, probabilities, others) = jax.grad(loss_of, has_aux=True)(weights)
    weights, optimizer_values = model.optimizer.stateless_apply(
        state["optimizer_variables"], gradients, weights
    )
    accuracy = jnp.mean(keras.metrics.categorical_accuracy(labels, probabilities))
    state = {
        "trainable_variables": weights,
        "non_trainable_variables": others,
        "optimizer_variables": optimizer_values,
    }
    return state, loss, accuracy
