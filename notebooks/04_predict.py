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
# # Classify new photos
#
# Every run of `02_train` saves its model. This notebook takes a model from a run's folder at home,
# or from the inputs that are attached to the notebook on Kaggle. It classifies photos without
# labels: your own, or the competition's test photos, for which it also writes a submission. It
# needs no internet.
#
# The next cell holds all settings. At home, `tools/predict.py` does the same from a terminal.

# %% tags=["parameters"]
model = "auto"  # a classifier.h5 or a run's folder; auto = the best of runs/, on Kaggle of inputs
photos = "auto"  # a folder or glob; auto = photos of attached datasets, else the data's test split
data = "auto"  # where the test split is: auto, embedded, a folder, gs://..., owner/slug
top = 5  # [1, 20]: most likely classes to show for each photo
limit = 0  # >= 0: the most photos to classify, for a quick trial; 0 = all
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
output = ""  # the folder for the predictions; empty = here on Kaggle, runs/predict at home

# %%
try:
    from petals.accelerators.detect import detect
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "this notebook carries no petals package. Push it with "
        "`kernelkit push notebooks/04_predict.ipynb`, which packs it in"
    ) from None

device = detect(accelerator, "float32")
print(device)

# %%
from IPython.display import Markdown, display

from petals import classify
from petals.evaluation.calibration import Reliability
from petals.evaluation.submission import write_submission
from petals.models.restore import find_model, restore
from petals.plots.run import reliability
from petals.run_folder import RunFolder

# %%
run = RunFolder(output, "predict")
path = find_model(model)
with device.scope():
    classifier, card = restore(path)
print(f"{path}: {card.backbone}, {len(card.classes)} classes, {card.image_size} pixels")
Markdown(card.as_markdown())

# %% [markdown]
# ## How far to trust it
#
# Of the answers that a model gives with 80 % probability, 80 % should be right. `02_train` found
# one number, the *temperature*, that brings the model close to this on the validation photos. This
# notebook divides the model's outputs before the softmax by it. The figure shows how often the
# model was right on the validation photos, for each probability.

# %%
if card.reliability:
    on_validation = {"on validation": Reliability.from_lists(card.reliability)}
    display(run.figure(reliability(on_validation), "reliability"))
else:
    print("no figure: the model's run had no validation photos")

# %% [markdown]
# ## The photos
#
# The next cell classifies the photos and shows the first twenty answers. Your own photos can have
# any size. A test split must have the classes and the image size that the model was trained on.

# %%
paths = classify.photos_for(photos, limit)
answers = (
    classify.predict_photos(classifier, card, paths)
    if paths
    else classify.predict_test_split(classifier, card, data, limit)
)
print(f"{len(answers.names):,} photos")
answers.table(top, most=20)

# %%
run.figure(answers.picture(top), "predictions")

# %% [markdown]
# ## The files
#
# `predictions.csv` has the most likely classes of every photo. For a test split the notebook also
# writes `submission.csv`, or with `limit` a `submission.partial.csv`, which cannot be submitted.

# %%
answers.write(run.path, top)
if not paths:
    path = run.path / "submission.csv"
    rows = (answers.names, answers.probabilities, answers.submitted)
    print(write_submission(path, *rows, complete=answers.complete).name)
print(f"files in {run}")
