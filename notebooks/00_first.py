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
# people who know Keras and have never used a TPU. `tf.data` reads the photos, `keras.applications`
# supplies the network, and `compile`, `fit` and `predict` do the rest, all of it on this page.
#
# **On your own machine, choose Run All.** The quick run takes about two minutes on a laptop. It
# trains a narrow network on small pictures of drawn flowers, which come with the repository, and
# downloads 1 MB of weights the first time. Without internet a small network takes its place, which
# learns the drawn flowers from scratch. You can also start it from a terminal:
#
# ```
# kernelkit run notebooks/00_first.py
# ```
#
# **On Kaggle, the same notebook makes a full run,** on the competition's photos and on the TPU.
# Expect it to take about ten minutes, most of them spent compiling. (This is an estimate: nobody
# has timed it on a TPU yet.)
#
# ```
# kernelkit push notebooks/00_first.ipynb
# ```
#
# ### What comes from petals, and why
#
# Everything that you would write yourself in a notebook about Keras is written out here. The rest
# comes from `petals`, the package behind these notebooks: finding the data on Kaggle and at home,
# the figures, the progress of an epoch, and the files that the kit's reports read. It would fill
# three more pages and teach nothing about Keras or TPUs. `kernelkit push` packs the package
# into the notebook that it sends to Kaggle. To use a cell in a notebook of your own, replace the
# names that it imports from `petals`.
#
# The next cell holds all settings. Four of them depend on `quick` unless you set them.

# %% tags=["parameters"]
quick = "auto"  # auto | yes | no: a quick run of about two minutes; auto = at home, not on Kaggle
data = "auto"  # where the photos are: auto, embedded (drawn flowers), a folder, owner/slug
image_size = 0  # [0, 1024]: pixels a side; 0 = 128 if quick, else 192
weights = "auto"  # auto | imagenet | none | FILE: what the network starts from; auto: see below
width = 0.0  # 0.0 | 0.25 | 0.5 | 0.75 | 1.0: share of the channels; 0 = 0.25 if quick, else 1
head_epochs = 3  # >= 0: epochs that train only the new last layer, the head
epochs = -1  # >= -1: epochs that train the whole network; -1 = 2 if quick, else 12
batch_size = 16  # >= 1: photos for each device and step
learning_rate = 0.0  # >= 0: peak rate for the whole network; 0 = 0.001 if quick, else 0.0003
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
output = ""  # folder for the results; empty = the working folder on Kaggle, a new one at home

# %%
from petals.kaggle import on_kaggle

if quick == "auto":
    quick = "no" if on_kaggle() else "yes"
small = quick == "yes"
if image_size == 0:
    image_size = 128 if small else 192
if width == 0:
    width = 0.25 if small else 1.0
if epochs == -1:
    epochs = 2 if small else 12
if learning_rate == 0:
    learning_rate = 0.001 if small else 0.0003
print(f"{image_size} pixels, width {width}, {head_epochs} + {epochs} epochs, rate {learning_rate}")

# %% [markdown]
# ## Find the TPU
#
# A TPU is a chip for multiplying large matrices. Kaggle's TPU v5e-8 is eight of them in one
# machine, with 16 GB of memory each. Your code runs on that machine's CPU, which reads the photos
# and hands them to the chips.
#
# Older notebooks find the TPU with `TPUClusterResolver`. On a v5e-8 that no longer works: the
# TensorFlow that Kaggle installs cannot see this TPU, and those notebooks silently train on the
# CPU. [JAX](https://docs.jax.dev) can see it, and Keras 3 runs on JAX as well as on TensorFlow:
#
# - `jax.devices()` lists the chips of the TPU. Without a TPU it lists the GPUs, and without GPUs
#   one CPU.
# - `KERAS_BACKEND` tells Keras what to run on. Keras reads the variable once, when it is imported,
#   so set it before the import. This notebook uses JAX on a TPU or on GPUs, and TensorFlow on a
#   single CPU.
# - [`DataParallel`](https://keras.io/guides/distribution/) puts a copy of the model, a *replica*,
#   on each device and splits each batch among them. Each computes the gradients of its own part,
#   and the average of the gradients updates all copies. It replaces `strategy.scope()`; `compile`
#   and `fit` stay as they are.
#
# When TensorFlow is imported, it writes a page of notes about itself, which Jupyter shows in red.
# `without_notes` leaves them out. When Keras runs on JAX, TensorFlow only reads files, so the cell
# hides the GPUs from it.

# %%
import os

import jax

from petals.quiet import without_notes

devices = jax.devices()
on_jax = len(devices) > 1 or devices[0].platform != "cpu"
os.environ["KERAS_BACKEND"] = "jax" if on_jax else "tensorflow"
with without_notes():
    import keras
    import tensorflow as tf

    if on_jax:
        tf.config.set_visible_devices([], "GPU")
if len(devices) > 1:  # for a single one, Keras would compile each step three times
    keras.distribution.set_distribution(keras.distribution.DataParallel())

# %% [markdown]
# `detect` in `src/petals/accelerators/detect.py` does this for the other notebooks. It also gives
# up on a TPU that does not answer, and supports older TPUs, which need TensorFlow's `TPUStrategy`.
#
# If you asked for a TPU and got none, it is better to stop now than after nine hours on a CPU.
# `kernelkit push` sets `accelerator` to the device that it asks Kaggle for. If the session
# has another device, the next cell raises an `AcceleratorError`, and the push exits with code 10.
# In a rehearsal on your own machine, eight CPU devices stand in for the TPU, and the variable
# `KAGGLE_REHEARSAL` says so.
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
# ## Fetch the network
#
# About 120 photos a class are too few to train a network from scratch. So the notebook starts with
# a [MobileNet](https://arxiv.org/abs/1704.04861) that was trained on the million photos of
# ImageNet, as Keras's [guide to transfer learning](https://keras.io/guides/transfer_learning/)
# does. All its layers but the last, the *backbone*, are kept: they turn a photo into *features*,
# numbers that describe its shapes, textures and colours. Earlier layers respond to textures, later
# ones to larger shapes.
#
# MobileNet is small and fast, and any other network of
# [`keras.applications`](https://keras.io/api/applications/) can take its place. Xception, for
# example, expects pixels in the same range and scores higher. For sizes other than 128, 160, 192
# and 224, Keras warns that it loads the weights for 224. That is fine: they fit any size.
#
# `weights="auto"` means those from ImageNet. If they cannot be downloaded at home, `downloaded`
# returns `None`, and `small_network` takes MobileNet's place, without a first phase. With
# `weights="imagenet"`, and on Kaggle, a run without them stops here.

# %%
from petals.errors import SettingError
from petals.pretrained import downloaded

shape = (image_size, image_size, 3)


def mobilenet(weights):
    try:
        return keras.applications.MobileNet(
            include_top=False, pooling="avg", input_shape=shape, alpha=width, weights=weights
        )
    except ValueError as error:  # a size, a width or a file that Keras refuses
        raise SettingError(f"MobileNet: {error}") from None


def small_network():
    """Five convolutions, which learn from scratch in a minute on two cores."""
    layers = [keras.Input(shape), keras.layers.AveragePooling2D(2)]
    for filters in (24, 48, 96, 192, 256):
        strides = 1 if filters == 256 else 2
        layers += [
            keras.layers.Conv2D(filters, 3, strides, padding="same", use_bias=False),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.ReLU(),
        ]
    return keras.Sequential([*layers, keras.layers.GlobalAveragePooling2D()])


# %%
if weights in ("auto", "imagenet"):
    chosen = weights == "imagenet"
    backbone = downloaded(lambda: mobilenet("imagenet"), "MobileNet", chosen=chosen)
else:
    backbone = mobilenet(None if weights == "none" else weights)

in_its_place = ""
if backbone is None:
    in_its_place = (
        "The weights of MobileNet could not be downloaded to this machine, so a small network "
        "learns from scratch, without a first phase."
    )
    backbone = small_network()
    weights = "none"
    head_epochs = 0
    epochs = max(epochs, 12)
    learning_rate = 0.003

# %% [markdown]
# ## Look at the photos
#
# - `find_source` finds the data. Kaggle mounts a competition's files as a folder, at a path that
#   differs from machine to machine. At home the data is in `data/`. If there is none at home, or
#   with `data="embedded"`, the function takes the drawn flowers.
# - The photos are there in one or more sizes. The notebook reads the smallest that is not smaller
#   than `image_size`, or else the largest.
# - `source.splits` finds the train, val and test photos. A split lists its files, takes the number
#   of photos from the names of the files, and reads classes and ids. A damaged file or a wrong
#   class stops the notebook here, and not after an hour of training.
# - `task_warnings` names what would make a score mean less than it seems to, for instance photos
#   that are in both train and val.
# - `RunFolder` is the folder with the results. Its `figure` saves a figure and shows it.

# %%
from petals.data.samples import sample_of
from petals.data.source import find_source
from petals.data.task import task_warnings
from petals.errors import DataError

source = find_source(data, image_size)
names = source.class_names
splits = source.splits(image_size)
if "val" not in splits:
    raise DataError(f"{source} has no val photos: use 02_train with validation=fold:1/5")
train = splits["train"]
val = splits["val"]
test = splits.get("test")

# %%
train.labels_and_ids(len(names))  # finds a wrong label before the training
labels, ids = val.labels_and_ids(len(names))
warnings = task_warnings(train, val, names)
for name, split in splits.items():
    print(f"{source}: {split.count:,} {name} photos")
for line in warnings:
    print(f"warning: {line}")

# %%
from petals.plots import photos as plots
from petals.run_folder import RunFolder

settings = "quick data image_size weights width head_epochs epochs batch_size learning_rate"
parameters = {name: globals()[name] for name in [*settings.split(), "accelerator"]}
run = RunFolder(output, time.strftime("first-%m%d-%H%M%S"), parameters=parameters)
run.warnings += warnings
if in_its_place:
    run.warn(in_its_place)
sample = sample_of(train, 18)
run.figure(plots.gallery(sample.images, [names[label] for label in sample.labels]), "gallery")

# %% [markdown]
# ## Read the photos
#
# The photos come in [TFRecord](https://www.tensorflow.org/tutorials/load_data/tfrecord) files,
# each with hundreds of JPEGs and their classes. `read` turns one record into pixels and a class.
# The pixels are `uint8`: as `float32`, a batch would be four times as large on its way to the
# devices. Test photos have no class and get -1.

# %%
called = source.features  # image, class and id, unless `data` names others
as_stored = all(split.record_size == image_size for split in splits.values())
features = {
    called.image: tf.io.FixedLenFeature([], tf.string),
    called.label: tf.io.FixedLenFeature([], tf.int64, default_value=-1),
}


def read(record):
    example = tf.io.parse_single_example(record, features)
    image = tf.io.decode_jpeg(example[called.image], channels=3)
    if not as_stored:
        side = tf.reduce_min(tf.shape(image)[:2])
        image = tf.image.resize_with_crop_or_pad(image, side, side)  # the middle square
        image = tf.image.resize(image, [image_size, image_size], antialias=True)
        image = tf.cast(tf.round(image), tf.uint8)
    return tf.ensure_shape(image, [image_size, image_size, 3]), example[called.label]


# %% [markdown]
# **The number of devices must divide every batch.** Eight devices cannot share a batch of 129
# photos, and JAX stops with an `IndivisibleError`: in `fit`, in `evaluate` and in `predict`. Two
# tricks keep every batch full:
#
# - For training, `drop_remainder` leaves out the photos that do not fill a last batch, others in
#   each epoch. `repeat()` begins the next epoch, with the photos in another order. Such an endless
#   dataset does not say where an epoch ends, so `fit` needs `steps_per_epoch`.
# - For validation and test, `repeat()` fills up the last batch with the first photos again. These
#   get the weight 0. Keras divides the loss of a batch by all its rows, whatever they weigh, so the
#   others weigh slightly more than 1: `val_loss` and `val_accuracy` are the means over the photos.
#   After `predict`, `[: split.count]` cuts off the extra rows.
#
# Full batches also save time. A TPU runs a program that was compiled for one shape of batch, and
# would have to compile another program for every other shape.
#
# The order of the calls decides the speed. `shuffle` comes before `read`, while a photo is still
# a small JPEG. `num_parallel_calls` decodes photos on all cores, and `prefetch` prepares the next
# batch while the devices work on this one.
#
# `tf.data.AUTOTUNE` could choose these numbers, but its thread sometimes sleeps through the end of
# `fit`, which then returns up to a minute late. So they are chosen here, and autotuning is off.

# %%
cores = os.cpu_count() or 1
options = tf.data.Options()
options.autotune.enabled = False
for_each = max(1, min(batch_size, train.count // len(devices)))  # if there are few photos
batch = for_each * len(devices)  # photos in a step, on all devices together
steps = max(1, train.count // batch)  # in an epoch

records = tf.data.TFRecordDataset(list(train.paths), num_parallel_reads=16)
train_photos = records.cache().shuffle(4096).map(read, num_parallel_calls=cores)
train_photos = train_photos.batch(batch, drop_remainder=True).repeat()
train_photos = train_photos.prefetch(4).with_options(options)


def in_order(split):
    batches = -(-split.count // batch)  # rounded up
    photos = tf.data.TFRecordDataset(list(split.paths)).map(read, num_parallel_calls=cores)
    rows = batches * batch
    weights = tf.data.Dataset.range(rows).map(
        lambda n: tf.where(n < split.count, rows / split.count, 0.0)
    )
    weighted = tf.data.Dataset.zip(photos.repeat(), weights)
    weighted = weighted.map(lambda photo, weight: (*photo, weight))
    return weighted.batch(batch, drop_remainder=True).prefetch(4).with_options(options)


# %% [markdown]
# ## Change the photos
#
# A mirrored rose is still a rose. `RandomFlip` mirrors each training photo with a probability of
# one half, anew in each epoch, so the network sees more variety. The figure shows six photos and
# what two epochs could make of them. The layer becomes part of the model, so the devices do the
# work. It changes photos during training only.

# %%
import numpy as np

flip = keras.layers.RandomFlip("horizontal")
originals = sample.images[:6]
first_epoch = keras.ops.cast(flip(originals, training=True), "uint8")
second_epoch = keras.ops.cast(flip(originals, training=True), "uint8")
changed = [np.asarray(first_epoch), np.asarray(second_epoch)]
run.figure(plots.augmentations(originals, changed), "augmentation")

# %% [markdown]
# ## Build the model
#
# The backbone lacks MobileNet's last layer. A new one for the flowers, the *head*, takes its place.
#
# - `Rescaling` maps pixels from 0 … 255 to -1 … 1, the range that this MobileNet was trained on.
# - `training=False` freezes the statistics of the BatchNorm layers. They come from a million
#   photos, and a small batch would estimate them worse. With `weights="none"` there are no
#   statistics to keep.
# - `dtype="float32"` keeps the last layer precise: bfloat16 would blur small differences in
#   probability.

# %%
photos = keras.Input(shape, dtype="uint8")
x = flip(photos)
x = keras.layers.Rescaling(1 / 127.5, offset=-1)(x)
x = backbone(x, training=None if weights == "none" else False)
x = keras.layers.Dropout(0.2)(x)
classes = keras.layers.Dense(len(names), activation="softmax", dtype="float32")(x)
model = keras.Model(photos, classes)

# %% [markdown]
# ## Train in two phases
#
# - **First only the head.** `trainable = False` freezes the backbone. The head is random at first,
#   and its large gradients would damage the weights from ImageNet.
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
def cosine(peak, steps):
    warm_up = steps // 10
    return keras.optimizers.schedules.CosineDecay(
        0.0, max(1, steps - warm_up), warmup_target=peak, warmup_steps=warm_up
    )


# %% [markdown]
# Keras calls a *callback* at certain moments of the training. This one shows how far an epoch is,
# and keeps the scores of each epoch. `async_safe` promises that its `on_train_batch_end` does not
# read the loss: on JAX, Keras then need not wait for the device after each step.

# %%
from petals.progress import Progress

progress = Progress()
rows = []  # the scores of each epoch
ends = [time.monotonic()]  # when training began, and when each epoch ended


class Watch(keras.callbacks.Callback):
    async_safe = True

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 0:  # of a phase
            print("compiling the first step, which takes a while ...", flush=True)

    def on_train_batch_end(self, batch, logs=None):
        if batch + 1 < steps:
            progress(f"epoch {len(rows) + 1}: step", batch + 1, steps)

    def on_epoch_end(self, epoch, logs=None):
        ends.append(time.monotonic())
        rows.append(logs)
        scores = "  ".join(f"{name} {value:.3f}" for name, value in logs.items())
        progress.stay(f"epoch {len(rows)}: {scores}  {ends[-1] - ends[-2]:.1f} s")


# %%
def train_phase(peak, count):
    model.compile(
        keras.optimizers.AdamW(cosine(peak, steps * count)),
        loss="sparse_categorical_crossentropy",
        weighted_metrics=["accuracy"],
    )
    model.fit(
        train_photos,
        epochs=count,
        steps_per_epoch=steps,
        validation_data=in_order(val),
        callbacks=[Watch(), keras.callbacks.CSVLogger(run.path / "history.csv", append=bool(rows))],
        shuffle=False,  # the dataset does that
        verbose=0,  # `Watch` shows the progress
    )


# %% [markdown]
# ### First phase: the head

# %%
backbone.trainable = False
train_phase(peak=0.01, count=head_epochs)

# %% [markdown]
# ### Second phase: the whole network

# %%
backbone.trainable = True
train_phase(peak=learning_rate, count=epochs)

# %% [markdown]
# The curves show whether more epochs would help. If the validation loss still falls at the end,
# they would. If it rises while the training loss falls, the network learns the photos by heart.
# Guessing among 104 classes gives a loss of 4.64, the natural logarithm of 104.

# %%
from petals.plots import figures

caption = (
    "Mean cross-entropy and accuracy by epoch. Training sees mirrored photos, with dropout, and a "
    "network that improves during the epoch; validation sees the photos as they are. The dotted "
    "line marks the start of the second phase."
)
figure, panels = figures.new_figure(caption, ncols=2)
numbers = range(1, len(rows) + 1)
for axes, score in zip(panels, ("loss", "accuracy"), strict=True):
    axes.plot(numbers, [row[score] for row in rows], label="training", **figures.look(1))
    axes.plot(numbers, [row[f"val_{score}"] for row in rows], label="validation", **figures.look(0))
    axes.axvline(head_epochs + 0.5, color="black", linewidth=0.8, linestyle=":")
    axes.legend(frameon=False)
    figures.plain_axis(axes, score.capitalize(), "epoch")
run.figure(figure, "curves")

# %% [markdown]
# ## How good is it?
#
# *Accuracy* is the share of right answers, so the common classes decide it. The competition ranks
# by [*macro F1*](https://scikit-learn.org/stable/modules/generated/sklearn.metrics.f1_score.html).
# The *F1* of a class is the harmonic mean of precision (the share of the answers "rose" that are
# roses) and recall (the share of the roses that were found). Macro F1 is the mean over the classes,
# so a rare flower counts as much as a common one. On 90 roses and 10 tulips, a model that always
# answers "rose" has an accuracy of 0.90 and a macro F1 of 0.474.
#
# The next cell measures it on the validation photos, which the network was not trained on. So few
# photos tell the score only roughly. How roughly, a *bootstrap* shows: it draws the photos of each
# class a thousand times with replacement, now and then one of another class in their place, and
# 95 % of the scores lie in the interval.

# %%
from sklearn.metrics import f1_score

from petals.evaluation.intervals import Intervals

probabilities = model.predict(in_order(val), verbose=0)[: val.count]
answers = probabilities.argmax(axis=1)
macro_f1 = f1_score(labels, answers, average="macro")
print(f"macro F1 {macro_f1:.4f} on {val.count:,} photos")
intervals = Intervals.of(labels, probabilities)
print(intervals)
if intervals.note:
    run.warnings.append(intervals.note)

# %% [markdown]
# Scores say little about what the network finds hard, and photos say more. These are the mistakes
# that it was most sure of, six at most. Some of them are hard for people too. In the competition's
# photos, some of the labels are wrong.

# %%
mistakes = np.flatnonzero(answers != labels)
sureness = probabilities.max(axis=1)
worst = mistakes[np.argsort(-sureness[mistakes])][:6]
print(f"{len(mistakes):,} of {val.count:,} answers are wrong")

# %%
from IPython.display import display

if len(worst):
    shown = sample_of(val, worst)
    figure = plots.predictions(shown.images, shown.labels, probabilities[worst], names)
    display(run.figure(figure, "mistakes"))

# %% [markdown]
# ## Write the submission
#
# The file has one row for each test photo: its id and the number of its class. Submit it from the
# notebook's output on Kaggle, or push with `--submit MESSAGE`. Photos of your own may have no test
# split.

# %%
from petals.evaluation.submission import write_submission

if test:
    _, test_ids = test.labels_and_ids()
    test_probabilities = model.predict(in_order(test), verbose=0)[: test.count]
    submission = run.path / "submission.csv"
    write_submission(submission, test_ids, test_probabilities, source.submitted)
    run.write_predictions("test", test_ids, probabilities=test_probabilities)
else:
    print("no submission: there are no test photos")

# %% [markdown]
# ## Keep the results
#
# The next cells write the files that other tools read: `kernelkit report` makes a page about a run,
# and `03_compare` compares runs and averages their probabilities. `Scores` adds accuracy,
# precision, recall and loss to the macro F1. `write_metrics` adds which code ran.

# %%
run.write_predictions("val", ids, labels=labels, probabilities=probabilities)

device = {
    "kind": kind,
    "name": devices[0].device_kind,
    "replicas": len(devices),
    "backend": keras.config.backend(),
    "dtype": keras.config.dtype_policy().name,
    "rehearsal": "KAGGLE_REHEARSAL" in os.environ,
}
photos_read = {"source": str(source), "name": source.name, "image_size": image_size}
photos_read |= {"train": train.count, "val": val.count, "test": test.count if test else 0}
if source.submitted:
    photos_read["submitted"] = source.submitted

# %%
from petals.evaluation.metrics import Scores, chance

metrics = vars(Scores.of(labels, probabilities))
metrics |= {"device": device, "data": photos_read}
metrics["parameters"] = parameters
metrics["intervals"] = intervals.as_dict()
metrics["chance"] = chance(labels, len(names))
metrics["total_params"] = model.count_params()
metrics["trainable_params"] = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
metrics["epochs"] = len(rows)
if rows:
    metrics["first_epoch_seconds"] = ends[1] - ends[0]
    metrics["later_epoch_seconds"] = ends[-1] - ends[-2]
    metrics["images_per_second"] = steps * batch / metrics["later_epoch_seconds"]
metrics["seconds"] = time.monotonic() - begun
run.write_metrics(metrics)
print(f"done after {metrics['seconds']:.0f} s; the files are in {run}")

# %% [markdown]
# ## What to expect, and what to read next
#
# These runs used two cores of an x86 CPU and weights from ImageNet. Nothing has been measured on a
# TPU yet. `docs/appendix/measurements.md` has the commands.
#
# | photos | macro F1, first phase only | macro F1, both phases | seconds, both phases |
# |---|---|---|---|
# | 104 kinds of drawn flowers, the quick run | .974 | .987 | 71 on one core |
# | 17 kinds of real flowers, 809 photos, full run with `width=0.75 epochs=6` | .934 | .930 | 272 |
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
#   that is less sure of itself at the start, fine-tuning raised .955 to .97 on the same 17 kinds
#   (cross-validated).
# - **Other networks.** `backbone` is a setting; `docs/reference/backbones.md` lists its values.
# - **Safety.** Training stops before the session ends, and the next session resumes it.
# - **A closer look.** Figures show the worst classes and the most common mistakes, and `04_predict`
#   uses the model on new photos.
