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
# notebook reads any number of these folders and answers three questions: Which run scored best?
# Where do two models disagree? Are several models together better than the best one? At the end it
# writes a submission from the winner. If the runs cannot answer a question, the notebook says so.
# To see which setting helped and how the runs learnt, open the page of a sweep or the page of all
# runs (`kernelkit report runs --index`).
#
# The next cell holds all settings. At home the notebook compares the runs in `runs/`, on Kaggle the
# outputs of the notebooks that are attached as inputs. Scores can be compared only if the runs were
# validated on the same photos. The notebook takes the runs on the most photos, and names the others
# with the reason.

# %% tags=["parameters"]
runs = "auto"  # comma-separated globs of run folders; auto = runs/*, on Kaggle all attached
data = ""  # where the photos are, for the pictures; empty = where the best run had them
most = 8  # [1, 64]: pictures of each kind of disagreement
repeats = 10  # [2, 1000]: halvings of the validation set that judge the ensemble
submit = "auto"  # auto | single | mean | weighted: what the submission comes from
output = ""  # the comparison's folder; empty = here on Kaggle, runs/compare at home

# %%
try:
    from petals.quiet import without_notes
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "this notebook carries no petals package. Push it with "
        "`kernelkit push notebooks/03_compare.ipynb`, which packs it in"
    ) from None

with without_notes():  # those of TensorFlow about itself
    from petals.comparison import runs as comparison

# %% [markdown]
# ## Which runs there are
#
# The table lists the runs with the settings in which they differ, the best run first. If a folder
# cannot be read, a line says why. The runs of all folds of one recipe (`validation="fold:1/5"` to
# `"fold:5/5"`) are joined into one; of a fold that ran twice, the later run counts.
#
# The same run with another seed scores a little differently. In public notebooks for this
# competition, repeats differed by about ± 0.008 of macro F1. A smaller difference shows nothing. A
# larger one is a hint, and becomes evidence once you have repeated each setting three times. The
# column "95 %" has the score's interval: how well so few validation photos tell it. Scores on the
# same photos can differ by less and still be told apart, as the next section shows.
#
# The first epoch is slower, because it compiles the program and fills the caches. The time of the
# later epochs is the cost of training. Compare times only between runs that trained the same part
# of a backbone at the same image size.

# %%
import numpy as np
from IPython.display import display

from petals import storage
from petals.comparison import agreement, ensembles
from petals.errors import DataError
from petals.plots.photos import gallery
from petals.run_folder import RunFolder
from petals.tables import Table

# %%
folder = RunFolder(output, "compare")
finished, skipped = comparison.read(runs)
count = "1 run" if len(finished) == 1 else f"{len(finished)} runs"
print(f"{count} on {len(finished[0].ids):,} validation photos")
for line in skipped:
    print(f"left out: {line}")
comparison.ranking(finished)

# %% [markdown]
# ## Two models side by side
#
# The first model is the best run. The second is the run that is right most often where the best
# one is wrong, so the two may complement each other. The cell counts the photos on which both, one
# or neither of the models is right. It also prints the probability that two equally good models
# would differ at least as much ([McNemar's
# test](https://en.wikipedia.org/wiki/McNemar%27s_test)). If it is above 0.05, do not call the first
# model better than the second.

# %%
pair = agreement.Agreement.of(finished) if len(finished) > 1 else None
if pair is None:
    print("only one run: nothing to compare it with")
else:
    print(f"1: {pair.first.name}\n2: {pair.second.name}")
    for part, positions in pair.positions.items():
        print(f"{part}: {len(positions):,} photos")
    print(f"probability of so uneven a split by chance: {pair.chance:.2g}")

# %% [markdown]
# Photos that only one model recognises show what it has learnt and the other has not. Look closely
# at photos that neither model recognises: some have a wrong label.

# %%
try:
    photos, names = agreement.find_photos(finished[0], data)
except DataError as error:
    photos = None
    print(f"no pictures: {error}")
if pair and photos:
    for part, positions in pair.positions.items():
        if len(positions):
            images, captions = pair.surest(part, photos, names, most)
            figure = gallery(images, captions, overall=f"Photos with their class: {part}.")
            display(folder.figure(figure, part.replace(" ", "_")))

# %% [markdown]
# ## Several models together
#
# An *ensemble* averages the probabilities of several models. Models that make different mistakes
# correct one another. [Ensemble selection](https://doi.org/10.1145/1015330.1015432) chooses the
# weights of at most twelve runs. It begins with the best model, and in each round adds the model
# that raises the score most. It may add a model several times. Only runs that predicted all test
# photos take part, if there are any, because no other can be submitted.

# %%
members, without = ensembles.candidates(finished)
for line in without:
    print(line)
probabilities = np.stack([run.probabilities for run in members])
labels = members[0].labels
weights = ensembles.hill_climb(probabilities, labels)
rows = [
    {"run": run.name, "weight": float(w), "macro F1": run.macro_f1}
    for run, w in zip(members, weights, strict=True)
]
Table(rows)

# %% [markdown]
# Weights that were chosen on the validation set look good on that set, even if they are not. So
# the notebook cuts the set in two halves: one half chooses the weights and the best single run, the
# other half measures both. It repeats this `repeats` times with different halves. The gain in the
# table is what you can expect on new photos.

# %%
halves = None
if len(members) == 1:
    print("only one run: nothing to combine it with")
elif len(labels) < 2:
    print("one validation photo cannot judge an ensemble")
else:
    halves = ensembles.held_out(probabilities, labels, repeats)
    display(Table(halves.rows()))
    for line in ensembles.warnings_of(labels):
        print(f"warning: {line}")

# %% [markdown]
# ## The submission
#
# `submit` says what the submission is made from: the best run (`"single"`), the runs above with
# equal weights (`"mean"`), or the runs with the weights above (`"weighted"`). `"auto"` takes the
# better of the two ensembles if it beat the best run in at least nine of ten repeats, and the best
# run otherwise. If all runs lack test photos, because of `limit`, the file is called
# `submission.partial.csv`, and `kernelkit submit` refuses it.

# %%
choice = submit
if submit == ensembles.AUTO:
    choice = halves.choice if halves else ensembles.SINGLE
try:
    used = ensembles.submit(members, choice, weights, folder.path / "submission.csv")
    outcome = f"{choice}: submission from {used}"
except DataError as error:
    outcome = f"no submission: {error}"
print(outcome)

# %% [markdown]
# ## What is kept
#
# The folder has all figures and `submission.csv`, and `comparison.json` has the numbers.

# %%
storage.write_json(
    folder.path / "comparison.json",
    {
        "runs": [
            {"name": run.name, "macro_f1": run.macro_f1, "intervals": run.intervals.as_dict()}
            for run in finished
        ],
        "left_out": [*skipped, *without],
        "weights": rows,
        "submission": outcome,
        "held_out": halves.rows() if halves else None,
        "warnings": ensembles.warnings_of(labels),
    },
)
print(f"everything is in {folder}")
