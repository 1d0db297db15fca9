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
# Any set of run folders side by side: which device was fastest, which setting helped, where two
# models disagree, whether several together know more than the best one alone, and a submission
# from whichever that is. What the runs cannot show is said rather than guessed.

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
        "the package petals did not travel with this notebook. Push it with "
        "`python tools/push_kernel.py notebooks/03_compare.ipynb`, which packs it in"
    ) from None

from IPython.display import display

from petals import storage
from petals.comparison import agreement, effects, ensembles
from petals.plots import compare
from petals.run_folder import RunFolder
from petals.tables import Table

folder = RunFolder(output)
found, skipped = comparison.read(runs)
print(f"{len(found)} run{'s' * (len(found) > 1)} on {len(found[0].ids):,} validation photos")
print(*(f"left out: {line}" for line in skipped), sep="\n")
comparison.ranking(found)

# %% [markdown]
# ## How they learnt
#
# An epoch over stored features takes a fraction of a second, one of fine-tuning minutes, so the
# curves share an axis of epochs but not of time.

# %%
folder.figure(compare.curves(found), "curves")

# %% [markdown]
# ## Backbones on CPU, GPU, TPU
#
# How large each backbone is, how much of it was trained, what that scored at best and what it
# cost. The first epoch holds the compiling of the program and the filling of caches; the later
# ones are what training costs. Times can only be compared between rows that trained the same.

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
# Image size, backbone, augmentation, regularisation and learning rate. A comparison counts where
# runs differ in one of them and in nothing else but the seed; repeats of one recipe differ by
# about ± 0.008 of macro F1 (the grey bands), so that smaller effects are noise.

# %%
measured = {axis: effects.effect(found, axis) for axis in effects.AXES}
same = [axis for axis, effect in measured.items() if effect is None]
told = [effect for effect in measured.values() if effect is not None]
print("the same in all runs, so nothing can be said:", ", ".join(same) or "none")
Table.of([effects.verdict(effect) for effect in told]) if told else None

# %%
if told:
    display(effects.summary(told), folder.figure(compare.effects(told), "effects"))

# %% [markdown]
# ## Two models side by side
#
# The best run, and the one that is right most often where the best is wrong.

# %%
pair = agreement.most_complementary(found) if len(found) > 1 else None
if pair is None:
    print("only one run: nothing to set beside it")
else:
    agreed = agreement.Agreement.of(*pair)
    print(f"1: {pair[0].name}\n2: {pair[1].name}")
    print(f"probability of so uneven a split by chance: {agreed.chance:.2g}")
    display(folder.figure(compare.agreement(agreed, pair), "agreement"))

# %%
photos = agreement.photos(found[0], data)
print(photos.missing)
if pair and not photos.missing:
    for name in ("only_first", "only_second", "neither", "both"):
        positions = getattr(agreed, name)
        print(f"{name.replace('_', ' ')} right: {len(positions)}")
        if len(positions):
            figure = compare.told_by_two(photos, pair, positions, most)
            display(folder.figure(figure, name))

# %% [markdown]
# ## Together
#
# Probabilities averaged with weights that suit the validation set always look good on it. So
# weights, and the choice of the best run as well, are made on one half of it and judged on the
# other, many times over; the gain that is left is the one to expect.

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
# From the best run ("single"), all runs alike ("mean") or with the weights above ("weighted").
# "auto" takes the better of the two ensembles where it won in at least nine of ten halvings.

# %%
choice = submit if submit != "auto" else judged.choice if judged else "single"
path = folder.path / "submission.csv"
chosen = ensembles.weights_for(choice, weights)
said = ensembles.submit_or_best(members, chosen, path, insist=submit != "auto")
print(f"{choice}: {said}")

# %%
storage.write_json(
    folder.path / "comparison.json",
    {
        "runs": [{"name": run.name, "macro_f1": run.macro_f1} for run in found],
        "left_out": skipped, "devices": devices, "weights": rows, "submission": said,
        "effects": [effects.verdict(effect) for effect in told],
        "gain": judged.gain() if judged else None,
    },
)  # fmt: skip
print(f"everything is in {folder}")
