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
# # Harvest forecast
#
# This notebook predicts the yield of a plot from its rain, sun, nitrogen and soil. It uses ridge
# regression on powers of the features, and measures the mean absolute error on plots that were not
# used for training.

# %% tags=["parameters"]
degree = 2  # [1, 6]: highest power of a feature
penalty = 1.0  # >= 0: strength of the penalty on large weights
holdout = 0.25  # [0.05, 0.5]: share of the plots that validate
seed = 0  # >= 0: chooses the plots that validate
output = ""  # the run's folder; empty = here

# %%
import json
import time
from pathlib import Path

import numpy as np

from harvest import data
from harvest.model import Ridge, mae

began = time.monotonic()
plots = data.read("train")
order = np.random.default_rng(seed).permutation(len(plots.names))
held, kept = np.split(order, [round(holdout * len(order))])
print(f"{len(kept):,} plots to learn from, {len(held):,} to validate on")

# %%
model = Ridge.fit(plots.features[kept], plots.tonnes[kept], degree, penalty)
error = mae(plots.tonnes[held], model.predict(plots.features[held]))
guess = mae(plots.tonnes[held], np.full(len(held), plots.tonnes[kept].mean()))
print(f"MAE {error:.3f} t/ha; the mean of all plots as a guess: {guess:.3f}")

# %%
folder = Path(output or ".")
metrics = {
    "mae": error,
    "mae_of_the_mean": guess,
    "seconds": time.monotonic() - began,
    "settings": {"degree": degree, "penalty": penalty, "holdout": holdout, "seed": seed},
}
(folder / "metrics.json").write_text(json.dumps(metrics, indent=2))

# %%
test = data.read("test")
final = Ridge.fit(plots.features, plots.tonnes, degree, penalty)
data.write_submission(folder / "submission.csv", test.names, final.predict(test.features))
