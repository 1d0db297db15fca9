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
# Before a network learns anything: which flowers are there, how many of each, are the files
# whole, do photos occur twice, and can this machine read them as fast as an accelerator
# takes them? The cell below is all there is to change.

# %% tags=["parameters"]
data = "auto"  # where the images are: auto, embedded, a folder, gs://..., owner/slug
image_size = 192  # [32, 1024]: side in pixels; the competition has 192, 224, 331 and 512
near = 5  # [0, 16]: bits of 64 in which two photos' hashes may differ and still be twins
batch_size = 128  # >= 1: images in a batch while the input pipeline is timed
needed = 1060.0  # > 0: images/s an accelerator takes; 1,060 is MobileNetV2, 331 px, TPU v3-8
seconds = 4.0  # > 0: for which each way of reading is timed
limit = 0  # >= 0: images a split, for trying things out; 0 = all
output = ""  # the run's folder; empty = here on Kaggle, runs/latest at home

# %%
try:
    from petals.data.source import find_source
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "the package petals did not travel with this notebook. Push it with "
        "`python tools/push_kernel.py notebooks/01_explore.ipynb`, which packs it in"
    ) from None

from IPython.display import display

from petals import storage
from petals.data import duplicates, exploration, inspection, shards
from petals.plots import explore
from petals.plots import run as plots
from petals.progress import Progress
from petals.run_folder import RunFolder
from petals.tables import Table

run = RunFolder(output)
source = find_source(data, image_size)
names = source.class_names
splits = exploration.splits(source.root, image_size, limit)
print(f"{source}: {len(names)} classes")

# %% [markdown]
# ## What there is
#
# Counts are those in the files' names. A TPU is fed best by tens of files of tens of megabytes,
# so that many can be read at once.

# %%
exploration.holdings(source.root)

# %% [markdown]
# ## Are the files whole?
#
# Every record is read and every image decoded: counts against the files' names, labels out of
# range, images that do not decode or have another size, ids that occur twice.

# %%
health = [
    inspection.inspect_split(name, split, len(names), Progress()) for name, split in splits.items()
]
print(*health, sep="\n")
problems = [line for part in health for line in part.problems]
if problems:
    splits, lost = exploration.intact(splits)
    print(f"{lost} images left out from here on; 02_train does so with on_corrupt=skip")
else:
    print("nothing is wrong")

# %% [markdown]
# ## The flowers
#
# One photo of each class in the order of the labels; eight where there are few classes.

# %%
labels = exploration.labels(splits, len(names))
each = 8 if len(names) <= 13 else 1
chosen = exploration.some_of_each(splits["train"], labels["train"], each)
photos = shards.sample(splits["train"], chosen)
captions = [names[label] for label in photos.labels]
run.figure(plots.gallery(photos.images, captions), "gallery")

# %% [markdown]
# ## Balance
#
# Macro F1 counts every class alike, so the small ones weigh more than their photos do. And a
# validation set is only a fair judge where its shares are those of the training set.

# %%
balance = exploration.balance(labels, names)
print("{smallest} to {largest} training images a class (median {median:.0f})".format(**balance))
if balance["absent"]:
    print("without any training image:", ", ".join(balance["absent"]))
run.figure(plots.class_balance(labels, names), "classes")

# %%
for name, train_share, val_share in balance["unlike_val"]:
    print(f"{name}: {train_share:.2%} of train, {val_share:.2%} of val")
if "val" in labels:
    figure = explore.train_against_val(labels["train"], labels["val"], names)
    display(run.figure(figure, "train_against_val"))

# %% [markdown]
# ## Photos that occur twice
#
# The same bytes, or hashes of 64 bits (is each of 8 × 8 greys brighter than its neighbour?)
# that differ in few bits while the thumbnails agree too. Twins across train and validation
# flatter the score; twins under two labels can only be learnt wrong.

# %%
prints = duplicates.Fingerprints.of(splits, Progress())
pairs = duplicates.find_pairs(prints, near)
across = duplicates.across(prints, pairs)
print(f"{len(pairs):,} pairs alike among {len(prints):,} photos, {len(across):,} across splits")
Table.of(duplicates.summary(prints, pairs)) if pairs else None

# %%
twins = sorted(pairs, key=lambda pair: (not duplicates.disagree(prints, pair), pair not in across))
if twins:
    display(run.figure(explore.pairs(prints, twins, splits, names), "twins"))

# %%
run.figure(explore.jpeg_sizes(prints), "jpeg_sizes")

# %% [markdown]
# ## Fast enough?
#
# An accelerator that waits for photos is paid for nothing. "Decoding" does only that; the others
# are the training pipeline, read from the files again in every epoch or, where the decoded photos
# fit, from memory. An accelerator changes the photos itself; "strong on the CPU" is for training
# on this machine's CPU, where it does that as well. Red bars are below what is needed.

# %%
rates = exploration.rates(splits["train"], batch_size, len(names), seconds)
run.figure(explore.throughput(rates, needed), "throughput")

# %%
best = max(rates, key=rates.get)
print(f"this machine reads {min(rates.values()):,.0f} to {rates[best]:,.0f} images/s ({best})")
slow = [name for name, rate in rates.items() if rate < needed]
print(f"too slow for {needed:,.0f}/s: {', '.join(slow)}" if slow else "each way is fast enough")

# %% [markdown]
# ## What is kept
#
# The figures, and `exploration.json` with the numbers.

# %%
storage.write_json(
    run.path / "exploration.json",
    {
        "source": str(source), "image_size": image_size, "balance": balance, "problems": problems,
        "images": {name: split.count for name, split in splits.items()},
        "duplicates": duplicates.summary(prints, pairs), "images_per_second": rates,
        "needed": needed,
    },
)  # fmt: skip
print(f"everything is in {run}")
