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
# # Compare runs
#
# Every run of `02_train` leaves a folder with its scores, its settings and its predictions. This
# notebook reads any number of these folders and sets them side by side: which scored best, what
# each device cost, which setting helped, where two models disagree, and whether several models
# together are better than the best one. At the end it writes a submission from the winner. Where
# the runs cannot answer one of these questions, the notebook says so.
#
# The cell below holds all settings. At home it compares what is in `runs/`; on Kaggle it compares
# the outputs of the notebooks that are attached as inputs. Scores can be compared only if the
# runs were validated on the same photos, so the notebook takes the largest group of runs that
# were, and names the others.

# %% tags=["parameters"]
runs = "auto"  # globs of run folders with commas between; auto = runs/*, on Kaggle all attached
data = ""  # where the photos are, for the pictures; empty = where the best run had them
most = 8  # [1, 64]: pictures of each kind of disagreement
repeats = 10  # [2, 1000]: halvings of the validation set that judge the ensemble
submit = "auto"  # auto | single | mean | weighted: what the submission comes from
output = ""  # the comparison's folder; empty = here on Kaggle, runs/latest at home

# %%
try:
    from petals.comparison import runs as comparison
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "this notebook carries no petals package. Push it with "
        "`python tools/push_kernel.py notebooks/03_compare.ipynb`, which packs it in"
    ) from None

# %% [markdown]
# ## Which runs there are
#
# The table has the best run first. A folder that cannot be read is left out, and a line says why.
# The runs of all folds of one recipe (`validation="fold:1/5"` to `"fold:5/5"`) are joined into one.

# %%
from IPython.display import display

from petals import storage
from petals.comparison import agreement, effects, ensembles
from petals.plots import compare
from petals.run_folder import RunFolder
from petals.tables import Table

folder = RunFolder(output)
found, skipped = comparison.read(runs)
print(f"{len(found)} run{'s' * (len(found) > 1)} on {len(found[0].ids):,} validation photos")
for line in skipped:
    print(f"left out: {line}")
comparison.ranking(found)

# %% [markdown]
# ## How they learnt
#
# Each line is one run, epoch by epoch, for the best twelve runs. The curves share an axis of
# epochs, and not of time: an epoch over stored features takes a fraction of a second, an epoch of
# fine-tuning can take minutes. A curve that still rises at its end belongs to a run that was too
# short.

# %%
folder.figure(compare.curves(found), "curves")

# %% [markdown]
# ## What each backbone costs on each device
#
# One row for each device, backbone, image size and trained part: how large the backbone is, how
# many of its parameters were trained, the best score, and the seconds an epoch took. The first
# epoch is slower, because it compiles the program and fills the caches; the later epochs are what
# training costs. Compare times only between rows that trained the same part at the same size.

# %%
devices = comparison.devices(found)
Table.of(devices)

# %%
kinds = {(row["device"], row["name"]) for row in devices}
if len(kinds) == 1:
    print("all runs had the same device: run one elsewhere to compare")
folder.figure(compare.epoch_times(devices), "devices")

# %% [markdown]
# ## What each setting does
#
# Two runs show what a setting does only if they differ in this setting and in nothing else.
# (Another seed is not another setting.) The next cells look for such runs along six axes: image
# size, backbone, head, augmentation, regularisation and learning rate.
#
# A run that is repeated with another seed scores a little differently. In public notebooks for
# this competition, repeats differed by about ± 0.008 of macro F1, the grey bands in the figure. A
# smaller difference shows nothing. A larger one is a hint; it becomes evidence once each setting
# was repeated three times.

# %%
measured = {axis: effects.effect(found, axis) for axis in effects.AXES}
same = [axis for axis, effect in measured.items() if effect is None]
varied = [effect for effect in measured.values() if effect is not None]
print("the same in all runs, so nothing can be said:", ", ".join(same) or "none")
Table.of([effects.verdict(effect) for effect in varied]) if varied else None

# %%
if varied:
    display(effects.summary(varied), folder.figure(compare.effects(varied), "effects"))

# %% [markdown]
# ## Two models side by side
#
# The first model is the best run. The second is the run that is right most often where the best
# one is wrong, so the two may complement each other. The cell counts the photos on which both are
# right, one is, or neither is. It also prints a probability: if both models were equally good, a
# split as uneven as this one would come about with this probability ([McNemar's
# test](https://en.wikipedia.org/wiki/McNemar%27s_test)). If it is above 0.05, do not call the
# first model better than the second.

# %%
pair = agreement.most_complementary(found) if len(found) > 1 else None
if pair is None:
    print("only one run: nothing to set beside it")
else:
    agreed = agreement.Agreement.of(*pair)
    print(f"1: {pair[0].name}\n2: {pair[1].name}")
    print(f"probability of so uneven a split by chance: {agreed.chance:.2g}")
    display(folder.figure(compare.agreement(agreed, pair), "agreement"))

# %% [markdown]
# Photos that only one model recognises show what it has learnt and the other has not. Photos that
# neither recognises are worth a close look: some have a wrong label.

# %%
photos = agreement.photos(found[0], data)
if photos.missing:
    print(photos.missing)
if pair and not photos.missing:
    for name in ("only_first", "only_second", "neither", "both"):
        positions = getattr(agreed, name)
        print(f"{name.replace('_', ' ')} right: {len(positions)}")
        if len(positions):
            figure = compare.surest(photos, pair, positions, most)
            display(folder.figure(figure, name))

# %% [markdown]
# ## Several models together
#
# An *ensemble* averages the probabilities of several models. Models that make different mistakes
# correct one another. [Ensemble selection](https://doi.org/10.1145/1015330.1015432) finds the
# weights, of twelve runs at most: it begins with the best model, then adds in each round the model
# that raises the score most. A model may be added several times.
#
# Weights that were chosen on the validation set look good on that set, even if they are not. So
# the set is cut in two halves: one half chooses the weights and the best single run, the other
# half measures both. This is repeated `repeats` times with other halves. The gain below is what
# you can expect on new photos.

# %%
members = found[: ensembles.MOST]
probabilities, labels = ensembles.stacked(members), members[0].labels
weights = ensembles.hill_climb(probabilities, labels)
rows = [
    {"run": run.name, "weight": float(w), "macro F1": run.macro_f1}
    for run, w in zip(members, weights, strict=True)
]
Table.of(rows)

# %%
judged = ensembles.held_out(probabilities, labels, repeats) if len(members) > 1 else None
if judged is None:
    print("only one run: nothing to put together")
else:
    for what in ("mean", "weighted"):
        print("{}: {:+.4f} ± {:.4f} against the best run".format(what, *judged.gain(what)))
    display(folder.figure(compare.held_out(judged), "ensemble"))

# %% [markdown]
# ## The submission
#
# `submit` says what the submission is made from: the best run (`"single"`), the runs above with
# equal weights (`"mean"`) or with the weights above (`"weighted"`). `"auto"` takes the better
# of the two ensembles if it beat the best run in at least nine of ten repeats, and the best run if
# not.

# %%
choice = submit if submit != "auto" else judged.choice if judged else "single"
path = folder.path / "submission.csv"
chosen = ensembles.weights_for(choice, weights)
outcome = ensembles.submit_or_best(members, chosen, path, insist=submit != "auto")
print(f"{choice}: {outcome}")

# %% [markdown]
# ## What is kept
#
# The folder has all figures, `submission.csv`, and `comparison.json` with the numbers.

# %%
storage.write_json(
    folder.path / "comparison.json",
    {
        "runs": [{"name": run.name, "macro_f1": run.macro_f1} for run in found],
        "left_out": skipped,
        "devices": devices,
        "weights": rows,
        "submission": outcome,
        "effects": [effects.verdict(effect) for effect in varied],
        "gain": judged.gain() if judged else None,
    },
)
print(f"everything is in {folder}")
