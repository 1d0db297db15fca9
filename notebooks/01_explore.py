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
# # Explore the data
#
# Look at the photos before you train on them. This notebook answers five questions:
#
# 1. Which files are there, and are they whole?
# 2. What do the flowers look like?
# 3. How many photos does each class have?
# 4. Which photos occur twice?
# 5. Does this machine read photos as fast as an accelerator trains on them?
#
# It trains nothing and needs no accelerator.
#
# The next cell holds all settings. At home the notebook runs on the drawn flowers of the repository
# (`kernelkit run notebooks/01_explore.py -p data=embedded`), on Kaggle on the photos of
# [Petals to the Metal](https://www.kaggle.com/competitions/tpu-getting-started).

# %% tags=["parameters"]
data = "auto"  # where the images are: auto, embedded, a folder, gs://..., owner/slug
image_size = 192  # [32, 1024]: side in pixels; the competition has 192, 224, 331 and 512
batch_size = 128  # >= 1: images in a batch while the input pipeline is timed
needed = 963.0  # > 0: images/s an accelerator takes; 963: EfficientNetB5, 512 px, v5e-8, estimated
seconds = 4.0  # > 0: how long the input pipeline is timed
limit = 0  # >= 0: images in each split, for a quick trial; 0 = all
output = ""  # the run's folder; empty = here on Kaggle, runs/explore at home

# %%
try:
    from petals.quiet import without_notes
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "this notebook carries no petals package. Push it with "
        "`kernelkit push notebooks/01_explore.ipynb`, which packs it in"
    ) from None

with without_notes():  # those of TensorFlow about itself
    from petals.data.source import find_source

# %%
import numpy as np
from IPython.display import display

from petals import storage
from petals.data import duplicates, exploration, inspection
from petals.data.samples import sample_of
from petals.plots import photos as photo_plots
from petals.plots import run as plots
from petals.plots import twins as twin_plots
from petals.progress import Progress
from petals.run_folder import RunFolder
from petals.tables import Table

# %%
run = RunFolder(output, "explore")
source = find_source(data, image_size)
names = source.class_names
splits = source.splits(image_size, limit)
print(f"{source}: {len(names)} classes; {', '.join(splits)}")

# %% [markdown]
# ## Which files there are, and are they whole?
#
# The photos come as *shards*: [TFRecord](https://www.tensorflow.org/tutorials/load_data/tfrecord)
# files with hundreds of JPEGs each. Tens to hundreds of files of 10 to 100 MB suit a TPU best,
# because many of them can be read at the same time. `02_train` learns from the split *train*,
# measures on *val*, and writes a submission for *test*, which has no labels.
#
# The next cell reads every record and decodes every image. It reports counts that differ from the
# name of the file, labels out of range, images that cannot be decoded or have the wrong size, and
# ids that occur twice. One damaged image would stop a training run in the middle, so it is better
# to find it now.

# %%
health = [
    inspection.inspect_split(name, split, len(names), Progress()) for name, split in splits.items()
]
print(*health, sep="\n")
problems = [line for part in health for line in part.problems]
print("make these files again" if problems else "no problems found")

# %% [markdown]
# ## What the flowers look like
#
# The figure shows one photo of each class in the order of the labels, or eight of each if there are
# few classes. Look for classes that you could not tell apart yourself: the network will often
# confuse them too.

# %%
labelled = [name for name in splits if name != "test"]
labels = {name: splits[name].labels_and_ids(len(names))[0] for name in labelled}
each = 8 if len(names) <= 13 else 1
of_classes = [np.flatnonzero(labels["train"] == label)[:each] for label in range(len(names))]
photos = sample_of(splits["train"], np.concatenate(of_classes))
captions = [names[label] for label in photos.labels]
run.figure(photo_plots.gallery(photos.images, captions), "gallery")

# %% [markdown]
# ## How many photos each class has
#
# The competition's score, macro F1, is the mean of one score for each class. So a class with 18
# photos counts as much as one with 782, and each of its photos counts more. If a model is bad, look
# first at the classes with few photos.
#
# The cell also names the classes whose shares of *train* and of *val* differ by more than chance
# explains (two standard errors). For these classes the validation score says little about what the
# model has learnt.

# %%
balance = exploration.balance(labels, names)
print("{smallest} to {largest} training images a class (median {median:.0f})".format(**balance))
if balance["absent"]:
    print("without any training image:", ", ".join(balance["absent"]))
for name, train_share, val_share in balance["unlike_val"]:
    print(f"{name}: {100 * train_share:.2f} % of train, {100 * val_share:.2f} % of val")
run.figure(plots.class_balance(labels, names), "classes")

# %% [markdown]
# ## Photos that occur twice
#
# A photo in both *train* and *val* makes the validation score look better than it is, because the
# model has seen the answer. A photo with two labels teaches the model something wrong.
#
# Two photos count as twins if their bytes are equal, or if their *hashes* differ in at most five
# bits and their thumbnails look alike too. The hash has 64 bits: the photo is reduced to 8 rows of
# 9 greys, and each bit says whether a grey is brighter than its neighbour. This finds copies that
# were resized or compressed again. It does not find crops. Three copies of a photo make two pairs.

# %%
prints = duplicates.Fingerprints.of(splits, Progress())
pairs, _ = duplicates.find_pairs(prints)
across = sum(pair.across for pair in pairs)
print(f"{len(pairs):,} pairs alike among {len(prints):,} photos, {across:,} across splits")
Table(duplicates.summary(pairs)) if pairs else None

# %%
twins = sorted(pairs, key=lambda pair: (not pair.disagree, not pair.across))
if twins:
    display(run.figure(twin_plots.twins(prints, twins, splits, names), "twins"))

# %% [markdown]
# ## Can this machine feed an accelerator?
#
# The *input pipeline* reads shards, decodes JPEGs and puts photos into batches, on the host's CPU.
# The accelerator trains on one batch while the host prepares the next. If the host is slower, the
# accelerator waits, and its hours are wasted. `needed` is the number of images that an accelerator
# trains on in a second. The default is the TPU compiler's estimate for fine-tuning EfficientNetB5
# at 512 pixels on a TPU v5e-8. With a smaller network or smaller photos an accelerator needs more;
# `docs/appendix/tpu.md` has other backbones. TensorFlow's
# [guide](https://www.tensorflow.org/guide/data_performance) explains what makes a pipeline fast.
#
# The cell times the training pipeline while it reads from the files. If the decoded photos fit into
# memory, a training run reads the files only once and is faster from the second epoch on.

# %%
rate = exploration.rate(splits["train"], batch_size, len(names), seconds)
enough = "enough" if rate >= needed else "too slow"
print(f"this machine reads {rate:,.0f} images/s; {needed:,.0f} are needed: {enough}")

# %% [markdown]
# ## What is kept
#
# The run's folder has all figures, and `exploration.json` has the numbers. The next notebook to run
# is `02_train`.

# %%
storage.write_json(
    run.path / "exploration.json",
    {
        "source": str(source),
        "image_size": image_size,
        "balance": balance,
        "problems": problems,
        "images": {name: split.count for name, split in splits.items()},
        "duplicates": duplicates.summary(pairs),
        "images_per_second": rate,
        "needed": needed,
    },
)
print(f"everything is in {run}")
