"""A custom training loop to read or change, instead of Keras's `fit`.

Epochs, steps and callbacks are here. The step depends on how Keras uses several devices:
`custom_loop_tensorflow` for tf.distribute (GPUs, TPUStrategy, one CPU), `custom_loop_jax` for JAX
(Kaggle's TPU). Both give the same numbers as `fit`.
"""

from __future__ import annotations

from typing import Any

from tensorflow import keras


def fit(
    model: keras.Model,
    dataset: Any,
    *,
    initial_epoch: int,
    epochs: int,
    steps_per_epoch: int,
    callbacks: list[keras.callbacks.Callback],
    **without_effect: Any,
) -> None:
    """Train a compiled model as Keras's `fit` does, on one device or several.

    The arguments are those of `keras.Model.fit`: `epochs` is the one after the last, and
    `shuffle` and `verbose` change nothing here. `dataset` gives (the model's inputs, one-hot
    labels) in batches of one size, as `petals.data.pipeline.Batches` and
    `petals.accelerators.cluster.feed` do; every device gets its share of each. Losses added by
    layers (regularizers) are ignored: no backbone of petals has any.
    """
    training = _steps(model)
    batches = training.batches(dataset)
    facts = {"epochs": epochs, "steps": steps_per_epoch}
    watchers = keras.callbacks.CallbackList(callbacks, model=model, **facts)
    model.stop_training = False
    watchers.on_train_begin()
    try:
        for epoch in range(initial_epoch, epochs):
            watchers.on_epoch_begin(epoch)
            losses = accuracies = 0.0
            for number in range(steps_per_epoch):
                watchers.on_train_batch_begin(number)
                loss, accuracy = training.step(next(batches))
                losses, accuracies = losses + loss, accuracies + accuracy
                # Means over the epoch so far, as `fit` reports them.
                logs = {"loss": losses / (number + 1), "accuracy": accuracies / (number + 1)}
                watchers.on_train_batch_end(number, logs)
                if model.stop_training:
                    break
            training.sync()  # the callbacks score the model and keep its weights
            watchers.on_epoch_end(epoch, logs)
            if model.stop_training:
                break
    finally:
        training.sync()  # so that the model has its last weights even after an error
    watchers.on_train_end()


def _steps(model: keras.Model) -> Any:
    if hasattr(model, "distribute_strategy"):
        from petals.training.custom_loop_tensorflow import TensorFlowSteps

        return TensorFlowSteps(model)
    from petals.training.custom_loop_jax import JaxSteps

    return JaxSteps(model)
