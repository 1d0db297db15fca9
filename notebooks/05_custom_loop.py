# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Write the training loop yourself
#
# Keras's `fit` hides three things: the step that changes the weights, the loop around it, and how
# several chips share a batch. This notebook trains a small network with `fit`, then writes out all
# three and compares the losses. Start from it if you need a step that `fit` does not have, for
# example two networks that learn from each other, or gradients that are changed before they are
# applied.
#
# On a TPU and on GPUs, Keras runs here on [JAX](https://docs.jax.dev), and on a CPU on TensorFlow.
# The loop is the same, but the step differs, so there are two versions of it. To run the version
# for JAX without a TPU, set `KAGGLE_REHEARSAL=tpu`. CPU devices then stand in for the chips.
#
# ```
# kernelkit run notebooks/05_custom_loop.py -p data=embedded -p image_size=64
# ```

# %% tags=["parameters"]
data = "auto"  # where the photos are: auto, embedded (drawn flowers), a folder, owner/slug
image_size = 192  # [32, 1024]: pixels a side; the competition has 192, 224, 331 and 512
epochs = 3  # >= 1: passes over the photos, for each of the two trainings
batch_size = 64  # >= 1: photos for each device and step
learning_rate = 3e-3  # > 0: the same in every step
dtype = "float32"  # float32 | mixed_bfloat16: float16 would need a loss that is scaled
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
output = ""  # folder for the results; empty = the working folder on Kaggle, runs/latest at home

# %% [markdown]
# `00_first` explains the next cell: what the machine has decides what Keras runs on, and must be
# known before Keras is imported.

# %%
import os

import jax

from petals.errors import AcceleratorError
from petals.quiet import without_notes

devices = jax.devices()
kind = os.environ.get("KAGGLE_REHEARSAL", devices[0].platform)
if accelerator not in ("auto", kind):
    raise AcceleratorError(f"no {accelerator}: JAX sees {devices}. See Settings > Accelerator")
on_jax = kind != "cpu"
if not on_jax:
    devices = devices[:1]
os.environ["KERAS_BACKEND"] = "jax" if on_jax else "tensorflow"
with without_notes():
    import keras
    import tensorflow as tf

    if on_jax:
        tf.config.set_visible_devices([], "GPU")  # it only reads the photos
if len(devices) > 1:
    keras.distribution.set_distribution(keras.distribution.DataParallel())
keras.mixed_precision.set_global_policy(dtype)
print(f"{len(devices)} x {devices[0].device_kind}, Keras on {keras.config.backend()}")

# %% [markdown]
# `Batches` is an endless stream of shuffled photos, as `uint8`, with their classes as one-hot rows.
# With `deterministic` and the same seed, both trainings get the same batches in the same order.

# %%
from petals.data.pipeline import Batches
from petals.data.source import find_source
from petals.errors import DataError

source = find_source(data, image_size)
splits = source.splits(image_size)
if "val" not in splits:
    raise DataError(f"{source} has no val photos to score the epochs on")
train, val = splits["train"], splits["val"]
for split in (train, val):
    split.labels_and_ids(len(source.class_names))  # finds a wrong label before the training
batch = batch_size * len(devices)  # photos in a step, on all devices together
steps = max(1, train.count // batch)  # in an epoch
batches = Batches(train, batch, len(source.class_names), seed=1, deterministic=True)
print(f"{source}: {train.count:,} photos to train on, {steps} steps an epoch")

# %% [markdown]
# ## With `fit`
#
# The network is small and starts from random weights. BatchNorm makes it a realistic example: its
# running mean and deviation change in every step too, although no gradient reaches them.

# %%
keras.utils.set_random_seed(0)
photos = keras.Input((image_size, image_size, 3), dtype="uint8")
x = keras.layers.Rescaling(1 / 127.5, offset=-1)(photos)
for width in (24, 48, 96, 192):
    x = keras.layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
    x = keras.layers.BatchNormalization(momentum=0.9)(x)
    x = keras.layers.ReLU()(x)
x = keras.layers.GlobalAveragePooling2D()(x)
classes = keras.layers.Dense(len(source.class_names), activation="softmax", dtype="float32")(x)
model = keras.Model(photos, classes)

# %%
first_weights = model.get_weights()
optimizer = keras.optimizers.AdamW(learning_rate)
model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"])
fitted = model.fit(
    batches.dataset(),
    epochs=epochs,
    steps_per_epoch=steps,
    shuffle=False,  # `Batches` has shuffled the photos
    verbose=2,  # one line for each epoch
)

# %% [markdown]
# ## A step on TensorFlow
#
# The tape records how the loss is computed, so that it can return the gradients. The optimizer
# changes the model's own variables. `tf.function` compiles the whole step into one program, without
# Python in between. The step does not use its first argument, `state`, which only JAX needs.
#
# For several GPUs or a TPU through `TPUStrategy`, wrap the step in `strategy.run` and divide the
# loss by the number of replicas, as TensorFlow's
# [guide](https://www.tensorflow.org/tutorials/distribute/custom_training) does.

# %%
model.set_weights(first_weights)
optimizer = keras.optimizers.AdamW(learning_rate)


# %%
@tf.function
def tensorflow_step(state, images, labels):
    with tf.GradientTape() as tape:
        probabilities = model(images, training=True)
        losses = keras.losses.categorical_crossentropy(labels, probabilities)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    right = keras.metrics.categorical_accuracy(labels, probabilities)
    return state, loss, tf.reduce_mean(right)


# %% [markdown]
# ## A step on JAX
#
# JAX computes gradients of pure functions: everything that a step reads is an argument, and
# everything that it changes is a result. `stateless_call` and `stateless_apply` are Keras's pure
# versions of calling a model and applying gradients. The *state* of the training is three lists of
# arrays: the weights, the other variables (here those of BatchNorm), and the optimizer's variables.


# %%
def loss_of(weights, others, images, labels):
    probabilities, others = model.stateless_call(weights, others, images, training=True)
    loss = keras.losses.categorical_crossentropy(labels, probabilities).mean()
    right = (probabilities.argmax(axis=1) == labels.argmax(axis=1)).mean()
    return loss, (others, right)


# %%
def pure_step(state, images, labels):
    weights, others, slots = state
    gradient = jax.value_and_grad(loss_of, has_aux=True)
    (loss, (others, right)), gradients = gradient(weights, others, images, labels)
    weights, slots = optimizer.stateless_apply(slots, gradients, weights)
    return (weights, others, slots), loss, right


# %% [markdown]
# ### Several chips
#
# The step is written as if there were one device. The placement of the arrays tells JAX the rest:
#
# - `by_photo` divides a batch among the chips, along its first axis.
# - `everywhere` gives each chip the whole state.
#
# From this placement, [XLA](https://openxla.org/xla) works out that it has to add up the gradients
# over the chips. `donate_argnums` lets the new state take over the memory of the old one, which
# destroys the old one. So do not use the model's variables between `read_state` and `write_state`.

# %%
from jax.sharding import Mesh, NamedSharding, PartitionSpec

if on_jax:
    mesh = Mesh(jax.devices(), ("batch",))
    by_photo = NamedSharding(mesh, PartitionSpec("batch"))
    everywhere = NamedSharding(mesh, PartitionSpec())
    compiled = jax.jit(pure_step, donate_argnums=0, out_shardings=everywhere)
    optimizer.build(model.trainable_variables)
    variables = model.trainable_variables, model.non_trainable_variables
    variables += (optimizer.variables,)


# %%
def jax_step(state, images, labels):
    images, labels = (jax.device_put(part.numpy(), by_photo) for part in (images, labels))
    return compiled(state, images, labels)


def read_state():
    values = tuple([variable.value for variable in group] for group in variables)
    return jax.device_put(values, everywhere)  # or the first step would be compiled twice


def write_state(state):
    for group, values in zip(variables, state, strict=True):
        for variable, value in zip(group, values, strict=True):
            variable.assign(value)


# %% [markdown]
# ## The loop
#
# An epoch is a number of steps followed by a score. The loop reads the losses only once an epoch,
# because reading one makes Python wait for the device, which could already compute the next step.
# While the device computes, Python sends it the photos of the steps to come.

# %%
from itertools import islice

import numpy as np
from sklearn.metrics import f1_score

from petals.data.pipeline import images as in_order

labels_of_val, _ = val.labels_and_ids()
rows = []
photos = iter(batches.dataset())
state = None
step = jax_step if on_jax else tensorflow_step

# %%
for epoch in range(epochs):
    if on_jax:
        state = read_state()
    results = []
    for images, labels in islice(photos, steps):
        state, *result = step(state, images, labels)
        results.append(result)
    if on_jax:
        write_state(state)
    loss, accuracy = np.array(results, np.float64).mean(axis=0)
    probabilities = model.predict(in_order(val, batch), verbose=0)[: val.count]
    macro_f1 = f1_score(labels_of_val, probabilities.argmax(axis=1), average="macro")
    rows.append((epoch + 1, loss, fitted.history["loss"][epoch], accuracy, macro_f1))
    print(f"epoch {epoch + 1}: loss {loss:.4f}, macro F1 {macro_f1:.3f}")

# %% [markdown]
# ## The same numbers
#
# Both trainings started with the same weights and used the same batches and formulas, so their
# losses agree except for rounding, which grows from step to step. The loop lacks what `02_train`
# adds to `fit`: a learning rate that changes, the weights of the best epoch, checkpoints, and a
# stop before the session ends.

# %%
import csv
from pathlib import Path

from petals.kaggle import on_kaggle, runs_folder

folder = Path(output or ("." if on_kaggle() else runs_folder() / "latest"))
folder.mkdir(parents=True, exist_ok=True)
with (folder / "loop.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(("epoch", "loss", "fit_loss", "accuracy", "macro_f1"))
    table.writerows(rows)
apart = max(abs(row[1] / row[2] - 1) for row in rows)
print(f"the losses of the two trainings differ by {100 * apart:.2g} % at most")
