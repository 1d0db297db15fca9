"""A training step under tf.distribute: on one device, on several GPUs, on a TPU.

Each device ("replica") has a copy of the variables and computes its share of the batch. The
gradients are summed over the replicas, so that all copies change in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow import keras

from petals.accelerators import keras_backend


class TensorFlowSteps:
    """The steps of a compiled model under the strategy that it was built in."""

    def __init__(self, model: keras.Model) -> None:
        self.model, self.optimizer = model, model.optimizer
        self.strategy = model.distribute_strategy  # without a scope it is one of one replica
        # The optimizer's variables are mirrored like the weights. They cannot be created inside a
        # step, where each replica runs separately.
        keras_backend.build_optimizer(model)
        # One program for a whole step, without Python in between.
        self._step = tf.function(self._on_all_replicas, jit_compile=model.jit_compile)

    def batches(self, dataset: Any) -> Iterator[Any]:
        """Batches that are already distributed, each share on its replica's device."""
        if isinstance(dataset, tf.data.Dataset):
            dataset = self.strategy.experimental_distribute_dataset(dataset)
        return iter(dataset)  # else `petals.accelerators.cluster.feed` has divided it

    def step(self, batch: Any) -> tuple[float, float]:
        """Update the weights with one batch; returns the batch's mean loss and accuracy before
        that."""
        loss, accuracy = self._step(*batch)
        return float(loss), float(accuracy)

    def sync(self) -> None:
        """Do nothing: the step changes the model's own variables."""

    def _on_all_replicas(self, images: Any, labels: Any) -> list[tf.Tensor]:
        # `images` and `labels` hold a tensor a replica, and so does each of the results.
        results = self.strategy.run(self._on_one_replica, args=(images, labels))
        return [self.strategy.reduce("MEAN", result, axis=None) for result in results]

    def _on_one_replica(self, images: Any, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        weights = self.model.trainable_variables
        with tf.GradientTape() as tape:
            probabilities = self.model(images, training=True)
            # `call` gives a loss for each image. The gradients of all replicas are added up, so
            # each contributes the mean over its own images, divided by the number of replicas:
            # the sum is the gradient of the mean over the whole batch.
            loss = tf.reduce_mean(self.model.loss.call(labels, probabilities))
            share = loss / self.strategy.num_replicas_in_sync
            if not keras_backend.is_legacy(keras):
                # Small gradients vanish in float16: its optimizer multiplies the loss and divides
                # the gradients. For other dtypes this changes nothing.
                share = self.optimizer.scale_loss(share)
        if keras_backend.is_legacy(keras):
            # tf_keras has the same in `minimize`, which does the two lines below.
            self.optimizer.minimize(share, weights, tape=tape)
        else:
            gradients = tape.gradient(share, weights)
            # Sums the gradients over the replicas before it changes anything.
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        right = keras.metrics.categorical_accuracy(labels, probabilities)
        return loss, tf.reduce_mean(right)
