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
# # A first notebook: flowers on a TPU, in plain Keras
#
# This notebook trains a network to tell 104 kinds of flower apart, for Kaggle's competition
# [Petals to the Metal](https://www.kaggle.com/competitions/tpu-getting-started). It is written for
# people who know Keras and have never used a TPU. The code is plain Keras, all of it on this page:
# `tf.data` reads the photos, `keras.applications` supplies the network, and `compile`, `fit` and
# `predict` do the rest. Copy any line into a notebook of your own.
#
# The next cell holds the ten settings. Try the notebook on a laptop first, on flowers that the kit
# draws. That takes about two minutes, and downloads 1 MB of weights the first time:
#
# ```
# kernelkit run notebooks/00_first.py -p data=embedded -p image_size=96 \
#   -p width=0.25 -p epochs=5 -p learning_rate=1e-3
# ```
#
# Then run it on Kaggle's TPU, on the competition's photos. Expect it to take about ten minutes,
# most of them spent compiling. (This is an estimate: nobody has timed it on a TPU yet.)
#
# ```
# kernelkit push notebooks/00_first.ipynb
# ```

# %% tags=["parameters"]
data = "auto"  # where the photos are: auto, embedded (drawn flowers), a folder, owner/slug
image_size = 192  # [32, 1024]: pixels a side; the competition has 192, 224, 331 and 512
weights = "imagenet"  # imagenet | none | FILE: what the network starts from
width = 1.0  # 0.25 | 0.5 | 0.75 | 1.0: channels of each layer, as a share of the full MobileNet
head_epochs = 3  # >= 0: epochs that train only the new last layer
epochs = 12  # >= 0: epochs that train the whole network
batch_size = 16  # >= 1: photos for each device and step
learning_rate = 3e-4  # > 0: peak rate while the whole network is trained
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
output = ""  # folder for the results; empty = the working folder on Kaggle, runs/first at home

# %% [markdown]
# ## Find the TPU
#
# A TPU is a chip for multiplying large matrices. Kaggle's TPU v5e-8 is eight of them in one
# machine. Your code runs on that machine's CPU, which reads the photos and hands them to the chips.
#
# Older notebooks find the TPU with `TPUClusterResolver`. On a v5e-8 that no longer works: the
# TensorFlow that Kaggle installs cannot see this TPU, and those notebooks train on the CPU without
# telling you. [JAX](https://docs.jax.dev) can see it, and Keras 3 runs on JAX as well as on
# TensorFlow. After you import `os` and `jax`, six lines are enough:
#
# - `jax.devices()` lists the chips of the TPU. Without a TPU it lists the GPUs, and without GPUs
#   one CPU.
# - `KERAS_BACKEND` tells Keras what to run on. Keras reads the variable once, when it is imported,
#   so set it before the import. This notebook uses JAX on a TPU or on GPUs, and TensorFlow on a
#   single CPU.
# - [`DataParallel`](https://keras.io/guides/distribution/) puts a copy of the model on each device
#   and splits each batch among them. It replaces `strategy.scope()`; `compile` and `fit` stay as
#   they are.

# %%
import os

import jax

devices = jax.devices()
on_jax = len(devices) > 1 or devices[0].platform != "cpu"
os.environ["KERAS_BACKEND"] = "jax" if on_jax else "tensorflow"
import keras

if len(devices) > 1:  # for a single one, Keras would compile each step three times
    keras.distribution.set_distribution(keras.distribution.DataParallel())

# %% [markdown]
# `detect` in `src/petals/accelerators/detect.py` does this for the other notebooks. It also gives
# up on a TPU that does not answer, and supports older TPUs, which need TensorFlow's `TPUStrategy`.
#
# If you asked for a TPU and got none, it is better to stop now than after nine hours on a CPU.
# `kernelkit push` sets `accelerator` to the device that it asks Kaggle for. If the session
# has another device, the next cell raises the `AcceleratorError` of `petals`, the package behind
# these notebooks, and the push exits with code 10. In a rehearsal on your own machine, eight CPU
# devices stand in for the TPU, and the variable `KAGGLE_REHEARSAL` says so.
#
# A TPU computes fastest in [bfloat16](https://cloud.google.com/tpu/docs/bfloat16), a 16-bit float.
# The policy `mixed_bfloat16` computes in it and keeps the weights in float32. So do new GPUs; older
# ones have only float16, with which Keras scales the loss, so that small gradients do not vanish.

# %%
import time

from petals.errors import AcceleratorError

begun = time.monotonic()
kind = os.environ.get("KAGGLE_REHEARSAL", devices[0].platform)
if accelerator not in ("auto", kind):
    raise AcceleratorError(f"no {accelerator}: JAX sees {devices}. See Settings > Accelerator")
platform = devices[0].platform
new = platform == "gpu" and float(devices[0].compute_capability) >= 8
if platform == "tpu" or new:
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
elif platform == "gpu":  # such as a P100 or a T4
    keras.mixed_precision.set_global_policy("mixed_float16")
keras.utils.set_random_seed(0)
print(f"{len(devices)} x {devices[0].device_kind}, Keras on {keras.config.backend()}")

# %% [markdown]
# ## Find the photos
#
# The next cell uses a few functions of `petals`. `kernelkit push` packs the package into the
# notebook that it sends to Kaggle.
#
# - `find_source` finds the data. Kaggle mounts a competition's files as a folder, at a path that
#   differs from machine to machine. At home the data is in `data/`. If there is none at home, or
#   with `data="embedded"`, the function draws flowers.
# - A `Split` holds the train, val or test photos. It lists their files, takes the number of photos
#   from the names of the files, and reads classes and ids without decoding the photos. The cell
#   reads them once, so a damaged file or a wrong class stops the notebook before the training.
# - `on_kaggle` and `runs_folder` say where the results go.

# %%
from pathlib import Path

from petals.data.shards import Split
from petals.data.source import find_source
from petals.kaggle import on_kaggle, runs_folder

folder = Path(output or ("." if on_kaggle() else runs_folder() / "first"))
folder.mkdir(parents=True, exist_ok=True)
source = find_source(data, image_size)
train, val, test = (Split.find(source.root, image_size, name) for name in ("train", "val", "test"))
_, (labels, ids) = (split.labels_and_ids(len(source.class_names)) for split in (train, val))
_, test_ids = test.labels_and_ids()
print(f"{source}: {train.count:,} train, {val.count:,} val and {test.count:,} test photos")

# %% [markdown]
# ## Read the photos
#
# The photos come in [TFRecord](https://www.tensorflow.org/tutorials/load_data/tfrecord) files,
# each with hundreds of JPEGs and their classes. `read` turns one record into pixels and a class.
# The pixels stay `uint8`: as `float32`, a batch would be four times as large on its way to the
# devices. Test photos have no class and get -1.
#
# When Keras runs on JAX, TensorFlow only reads files, so the cell hides the GPUs from it.

# %%
import tensorflow as tf

if on_jax:
    tf.config.set_visible_devices([], "GPU")
features = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
}


def read(record):
    example = tf.io.parse_single_example(record, features)
    image = tf.io.decode_jpeg(example["image"], channels=3)
    return tf.ensure_shape(image, [image_size, image_size, 3]), example["class"]


# %% [markdown]
# **The number of devices must divide every batch.** Eight devices cannot share a batch of 129
# photos, and JAX stops with an `IndivisibleError`: in `fit`, in `evaluate` and in `predict`. Two
# tricks keep every batch full:
#
# - For training, `repeat()` makes the dataset endless, so there is no smaller batch at the end. An
#   endless dataset does not say where an epoch ends either, so `fit` needs `steps_per_epoch`.
# - For validation and test, `repeat()` fills up the last batch with the first photos, and `take`
#   stops after that batch. After `predict`, `[: split.count]` cuts off the extra rows.
#
# Full batches also save time. A TPU runs a program that was compiled for one shape of batch, and
# would have to compile another program for every other shape.
#
# The order of the calls decides the speed. `shuffle` comes before `read`, while a photo is still
# a small JPEG. `num_parallel_calls` decodes photos on all cores, and `prefetch` prepares the next
# batch while the devices work on this one.

# %%
AUTOTUNE = tf.data.AUTOTUNE
batch = batch_size * len(devices)  # photos in a step, on all devices together
steps = max(1, train.count // batch)  # in an epoch

records = tf.data.TFRecordDataset(list(train.paths), num_parallel_reads=AUTOTUNE)
train_photos = records.cache().shuffle(4096).repeat()
train_photos = train_photos.map(read, num_parallel_calls=AUTOTUNE).batch(batch).prefetch(AUTOTUNE)


def in_order(split):
    photos = tf.data.TFRecordDataset(list(split.paths)).map(read, num_parallel_calls=AUTOTUNE)
    return photos.repeat().batch(batch).take(-(-split.count // batch)).prefetch(AUTOTUNE)


# %% [markdown]
# ## Build the model
#
# About 120 photos a class are too few to train a network from scratch. So the notebook starts with
# a [MobileNet](https://arxiv.org/abs/1704.04861) that was trained on the million photos of
# ImageNet, and gives it a new last layer for the flowers. MobileNet is small and fast, and any
# other network of [`keras.applications`](https://keras.io/api/applications/) can take its place.
# Xception, for example, expects pixels in the same range and scores higher. For sizes other than
# 128, 160, 192 and 224, Keras warns that it loads the weights for 224. That is fine: they fit any
# size.
#
# - `RandomFlip` mirrors half of the training photos, so the network sees more variety. It is part
#   of the model, so the devices do the work.
# - `Rescaling` maps pixels from 0 … 255 to -1 … 1, the range that this MobileNet was trained on.
# - `training=False` freezes the statistics of the BatchNorm layers. They come from a million
#   photos, and a small batch would estimate them worse. With `weights="none"` there are no
#   statistics to keep.
# - `dtype="float32"` keeps the last layer precise: bfloat16 would blur small differences in
#   probability.

# %%
shape = (image_size, image_size, 3)
start = None if weights == "none" else weights
backbone = keras.applications.MobileNet(
    include_top=False, pooling="avg", input_shape=shape, alpha=width, weights=start
)
photos = keras.Input(shape, dtype="uint8")
x = keras.layers.RandomFlip("horizontal")(photos)
x = keras.layers.Rescaling(1 / 127.5, offset=-1)(x)
x = backbone(x, training=None if weights == "none" else False)
x = keras.layers.Dropout(0.2)(x)
classes = keras.layers.Dense(len(source.class_names), activation="softmax", dtype="float32")(x)
model = keras.Model(photos, classes)

# %% [markdown]
# ## Train in two phases
#
# - **First only the new layer.** `trainable = False` freezes the rest. The new layer is random at
#   first, and its large gradients would damage the weights from ImageNet.
# - **Then the whole network,** at a lower learning rate. `CosineDecay` raises the rate from zero to
#   its peak, so that the first steps do no damage, and then lowers it to zero, so that the weights
#   can settle.
#
# The notebook compiles the model before each phase, because a change of `trainable` takes effect
# only then.
#
# Compare the seconds of the first epoch of each phase with those of the later ones. On a TPU,
# [XLA](https://openxla.org/xla) compiles the whole training step into one program before the first
# step runs. For a large network that takes minutes. After that the epochs are fast.

# %%
ends = [time.monotonic()]  # when training began, and when each epoch ended
clock = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: ends.append(time.monotonic()))
head = (False, 0.01, head_epochs)  # whether the backbone learns, peak rate, epochs
whole = (True, learning_rate, epochs)


def cosine(peak, steps):
    return keras.optimizers.schedules.CosineDecay(
        0.0, max(1, steps - steps // 10), warmup_target=peak, warmup_steps=steps // 10
    )


# %%
for trainable, peak, count in (head, whole):
    backbone.trainable = trainable
    optimizer = keras.optimizers.AdamW(cosine(peak, steps * count))
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        train_photos,
        epochs=count,
        steps_per_epoch=steps,
        validation_data=in_order(val),
        callbacks=[clock, keras.callbacks.CSVLogger(folder / "history.csv", append=trainable)],
        shuffle=False,  # the dataset does that
        verbose=2,  # one line for each epoch
    )

# %% [markdown]
# ## How good is it?
#
# The competition ranks by [macro
# F1](https://scikit-learn.org/stable/modules/generated/sklearn.metrics.f1_score.html): the F1 of
# each class, averaged over the classes. A rare flower counts as much as a common one. The next
# cell measures it on the validation photos, which the network was not trained on.

# %%
from sklearn.metrics import f1_score

probabilities = model.predict(in_order(val), verbose=0)[: val.count]
macro_f1 = f1_score(labels, probabilities.argmax(axis=1), average="macro")
print(f"macro F1 {macro_f1:.4f} on {val.count:,} photos")

# %% [markdown]
# ## Write the submission
#
# The file has one row for each test photo: its id and the number of its class. Submit it from the
# notebook's output on Kaggle, or push with `--submit MESSAGE`. The cell also saves the
# probabilities, so that you can average several runs.

# %%
import numpy as np

test_probabilities = model.predict(in_order(test), verbose=0)[: test.count]
rows = zip(test_ids, test_probabilities.argmax(axis=1), strict=True)
(folder / "submission.csv").write_text("id,label\n" + "".join(f"{i},{n}\n" for i, n in rows))
np.savez(folder / "test_predictions.npz", ids=test_ids, probabilities=test_probabilities)

# %% [markdown]
# ## Keep the results
#
# The next two cells write the files that other tools read: `kernelkit report` makes a page about a
# run, and `03_compare` compares runs. `Scores` adds accuracy, precision, recall and loss to the
# macro F1. `versions` and `git_state` record which code ran. `write_json` writes the file in one
# piece, so that no program reads half of it.

# %%
np.savez(folder / "val_predictions.npz", ids=ids, labels=labels, probabilities=probabilities)
device = {"kind": kind, "name": devices[0].device_kind, "replicas": len(devices)}
device |= {"backend": keras.config.backend(), "dtype": keras.config.dtype_policy().name}
device["rehearsal"] = "KAGGLE_REHEARSAL" in os.environ
photos_read = {"source": str(source), "name": source.name, "image_size": image_size}
photos_read |= {"train": train.count, "val": val.count, "test": test.count}
settings = "data image_size weights width head_epochs epochs batch_size learning_rate accelerator"
seconds = np.diff(ends)  # of each epoch

# %%
from petals.evaluation.metrics import Scores
from petals.storage import write_json
from petals.versions import git_state, versions

metrics = vars(Scores.of(labels, probabilities)) | {"device": device, "data": photos_read}
metrics |= {"total_params": model.count_params(), "versions": versions(), "git": git_state()}
if len(seconds):
    metrics |= {"first_epoch_seconds": seconds[0], "later_epoch_seconds": seconds[-1]}
    metrics["images_per_second"] = steps * batch / seconds[-1]
metrics["trainable_params"] = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
metrics |= {"epochs": len(seconds), "parameters": {n: globals()[n] for n in settings.split()}}
write_json(folder / "metrics.json", metrics | {"seconds": time.monotonic() - begun})

# %% [markdown]
# ## What to expect, and what to read next
#
# These runs used two cores of an x86 CPU and weights from ImageNet. Nothing has been measured on a
# TPU yet. `docs/appendix/measurements.md` has the commands.
#
# | photos | macro F1, first phase only | macro F1, both phases | seconds, both phases |
# |---|---|---|---|
# | 104 kinds of drawn flowers, with the first command above | .931 | .977 | 115 |
# | 17 kinds of real flowers, 809 to train on, `width=0.75`, `epochs=6` | .934 | .930 | 272 |
#
# The drawn flowers look unlike ImageNet's photos, so it pays to train the whole network, at a high
# learning rate. On 809 real photos, the second phase took four minutes and gained nothing. The same
# network in `02_train`, with its default settings, reached .941 on these photos in 44 seconds.
# Continue with that notebook. It adds what raises a score and what a long run needs:
#
# - **A better last layer.** The frozen network gives the same features in every epoch, so
#   `02_train` computes them once, for each photo and its mirror image, and finds the best layer for
#   them. That replaces the first phase.
# - **Fine-tuning that pays.** With small batches, random crops, smoothed labels and a last layer
#   that is less sure of itself at the start, fine-tuning raised .955 to .974 on the same 17 kinds
#   (cross-validated).
# - **Other networks.** `backbone` is a setting; `docs/reference/backbones.md` lists its values.
# - **Safety.** Training stops before the session ends, and the next session resumes it.
# - **A closer look.** Figures show the worst classes and the most common mistakes, and `04_predict`
#   uses the model on new photos.
