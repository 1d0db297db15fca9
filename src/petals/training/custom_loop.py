"""The training loop spelt out, for those who want to see one or to change it."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras


def fit(
    model: keras.Model,
    dataset: tf.data.Dataset,
    *,
    initial_epoch: int,
    epochs: int,
    steps_per_epoch: int,
    callbacks: list[keras.callbacks.Callback],
) -> None:
    """What Keras's `fit` does with a compiled model on TensorFlow; the numbers are the same.

    The arguments are those of `keras.Model.fit`: `epochs` is the one after the last.
    """
    optimizer, loss_of = model.optimizer, model.loss
    mean_loss = keras.metrics.Mean()
    accuracy = keras.metrics.CategoricalAccuracy()

    @tf.function
    def step(images: tf.Tensor, labels: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            probabilities = model(images, training=True)
            loss = loss_of(labels, probabilities)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        mean_loss.update_state(loss, sample_weight=tf.shape(images)[0])
        accuracy.update_state(labels, probabilities)

    watchers = keras.callbacks.CallbackList(
        callbacks, model=model, epochs=epochs, steps=steps_per_epoch
    )
    batches = iter(dataset)
    model.stop_training = False
    watchers.on_train_begin()
    for epoch in range(initial_epoch, epochs):
        mean_loss.reset_state()
        accuracy.reset_state()
        watchers.on_epoch_begin(epoch)
        for number in range(steps_per_epoch):
            watchers.on_train_batch_begin(number)
            step(*next(batches))
            logs = {"loss": mean_loss.result(), "accuracy": accuracy.result()}
            watchers.on_train_batch_end(number, logs)
            if model.stop_training:
                break
        watchers.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    watchers.on_train_end()
