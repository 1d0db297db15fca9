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
# # Tide levels
#
# A competition with an inference server: the notebook offers `predict`, and a gateway calls it for
# one day at a time. The level at an hour is the sum of tides with known periods and of the effect
# of the air pressure. Least squares finds the height of each.

# %% tags=["parameters"]
periods = "12.42 12.0 25.82"  # hours, of the tides that are fitted
output = ""  # the run's folder; empty = here

# %%
import json
import os
from pathlib import Path

import kaggle_evaluation.tides_inference_server
import numpy as np
import polars as pl

FILES = Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input")) / "competitions/tide-levels"
train = pl.read_csv(FILES / "train.csv")
print(f"{len(train):,} hours to learn from")


# %%
def features(hours: pl.DataFrame) -> np.ndarray:
    """One row an hour: a constant, the pressure, and a cosine and a sine for each period."""
    time = (24 * hours["day"] + hours["hour"]).to_numpy()
    angles = [2 * np.pi * time / float(period) for period in periods.split()]
    waves = [wave(angle) for angle in angles for wave in (np.cos, np.sin)]
    return np.column_stack([np.ones(len(time)), hours["pressure"].to_numpy() - 1013, *waves])


heights, *_ = np.linalg.lstsq(features(train), train["level"].to_numpy(), rcond=None)
error = float(np.sqrt(np.mean((features(train) @ heights - train["level"].to_numpy()) ** 2)))
print(f"RMSE {error:.3f} m on the hours that it learnt from")
Path(output or ".", "metrics.json").write_text(json.dumps({"rmse": error}))


# %% [markdown]
# In the rerun, `serve` must be called within fifteen minutes, so do slow loading in the first call
# of `predict`. In the rerun, nothing after `serve()` runs.


# %%
def predict(day: pl.DataFrame) -> pl.DataFrame:
    """The levels of one day's hours, in the order of its rows."""
    return pl.DataFrame({"level": features(day) @ heights})


server = kaggle_evaluation.tides_inference_server.TidesInferenceServer(predict)
if os.environ.get("KAGGLE_IS_COMPETITION_RERUN"):
    server.serve()
else:
    server.run_local_gateway(FILES)
