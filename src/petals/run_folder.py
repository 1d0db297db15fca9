"""The output of every run: scores, history, predictions, figures.

Writes files and knows no model and no data set, so that a notebook which uses it carries neither.
"""

import base64
import json
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from petals import storage
from petals.errors import SettingError
from petals.kaggle import on_kaggle, runs_folder
from petals.plots import figures
from petals.versions import git_state, versions

History = Sequence[Mapping[str, Any]]  # the rows of history.csv
HISTORY = (
    "phase",
    "epoch",
    "loss",
    "accuracy",
    "val_loss",
    "val_accuracy",
    "val_macro_f1",
    "learning_rate",
    "seconds",
    "images_per_second",
)
# What an earlier run of 02_train left would be read as this one's, if this one ends early or leaves
# it out.
RESULTS = (
    "history.csv",
    "metrics.json",
    "figures.json",
    "gallery.json",
    "confused.json",
    "mistakes.json",
    "val_predictions.npz",
    "test_predictions.npz",
    "submission.csv",
    "submission.partial.csv",
    "class_scores.csv",
    "confusion.csv",
    "calibration.csv",
    "calibration.txt",
    "gallery.jpg",
    "augmentation.jpg",
    "predictions.jpg",
    "classes.png",
    "curves.png",
    "head_schedule.png",
    "schedule.png",
    "reliability.png",
    "class_scores.png",
    "confusion.png",
    "model_card.md",
    "classifier.h5",
)

METRICS = "metrics.json"
# The file by which the folder of a notebook that trains nothing is known, by the folder's name.
LEFT_BY = {"compare": "comparison.json", "predict": "predictions.csv"}


class RunFolder:
    """The folder that `output` names; every file in it is written atomically.

    `output` "" means the working directory on Kaggle, and locally `runs/<name>` in the repository,
    whatever folder the notebook was started in; a notebook that trains nothing has a name of its
    own, so that it does not write over the files of a trained run. `writes`: whether this host is
    the one of several that writes there; the files of the others are deleted when they end.
    `parameters`: those of a run that trains; `free`: the names of those that may differ where a run
    is repeated, or resumed, in its folder.

    Raises `SettingError` if `output` names a folder with the results of another run, which this one
    would write over. A training with the same parameters may be repeated, or go on, in its folder.
    """

    def __init__(
        self,
        output: str = "",
        name: str = "latest",
        *,
        parameters: Mapping[str, Any] | None = None,
        free: Collection[str] = (),
        writes: bool = True,
    ) -> None:
        default = Path() if on_kaggle() else runs_folder() / name
        self.path = Path(output) if output else default
        if output:
            _refuse_another_run(self.path, name, parameters, free)
        if not writes:
            self._elsewhere = tempfile.TemporaryDirectory(prefix="petals-")
            self.path = Path(self._elsewhere.name)
        self.begun = time.monotonic()
        self.seconds_before = 0.0
        self._words: dict[str, dict[str, str]] = {}
        self.warnings: list[str] = []  # what a reader of the scores must know
        self._written: set[str] = set()

    def __str__(self) -> str:
        return str(self.path.resolve())

    @property
    def seconds(self) -> float:
        """The seconds since the run began, including those of its earlier processes."""
        return self.seconds_before + time.monotonic() - self.begun

    def clear(self, weights: str = "") -> None:
        """Delete the `RESULTS` that an earlier run left here, but none that this run has written.

        Call it when nothing can be wrong with the settings any more: a typing error then deletes
        nothing. `weights`: a file of this name stays, since the run starts from it.
        """
        # By name: a path that is wrong for this working directory may mean the file here.
        for name in {*RESULTS} - self._written - {Path(weights).name}:
            (self.path / name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        """The path of a file that this run writes."""
        self._written.add(name)
        return self.path / name

    def figure(self, figure: Figure, name: str) -> HTML:
        """Save a figure as `figures.save` does, and return it for display, above its caption.

        `figures.json` keeps caption and text of all figures, for a report made from the files; the
        text describes a figure to somebody who cannot see it.
        """
        words = {"caption": str(figure.get_label()), "text": figures.in_words(figure)}
        path = figures.save(figure, self.path, name)
        self._written.add(path.name)
        self._words[path.name] = words
        storage.write_json(self._file("figures.json"), self._words)
        kind = "png" if path.suffix == ".png" else "jpeg"
        data = base64.b64encode(path.read_bytes()).decode()
        return HTML(
            f'<figure><img src="data:image/{kind};base64,{data}" alt="{escape(words["text"])}">'
            f"<figcaption>{escape(words['caption'])}</figcaption></figure>"
        )

    def warn(self, *sentences: str) -> None:
        """Print what a reader of the scores must know, and keep it for the top of the report."""
        for sentence in sentences:
            print(sentence)
        self.warnings += sentences

    def write_history(self, history: History) -> None:
        """Write `history.csv`, with one row per epoch of either phase."""
        rows = ([row[name] for name in HISTORY] for row in history)
        storage.write_csv(self._file("history.csv"), HISTORY, rows)

    def write_predictions(self, split: str, ids: np.ndarray, **arrays: np.ndarray) -> None:
        """Write `val_predictions.npz` or `test_predictions.npz`, which ensembles are made from.

        `arrays`: `probabilities` (n, classes), and of a labelled split `labels` (n,).
        """
        arrays["probabilities"] = arrays["probabilities"].astype(np.float32)
        with storage.replacing(self._file(f"{split}_predictions.npz")) as part:
            np.savez_compressed(part, ids=ids, **arrays)  # type: ignore[arg-type]

    def write_metrics(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Write `metrics.json`, the flat schema that sweeps and reports read; returns it.

        `values`: the scores and whatever else is known; they come before what is added here, which
        is the seconds since the run began, the warnings, the time, the versions and the commit.
        """
        metrics = {
            "seconds": round(self.seconds, 3),
            "warnings": self.warnings,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "git": git_state(),
            **values,
        }
        storage.write_json(self._file(METRICS), metrics)
        return metrics


def _refuse_another_run(
    folder: Path, name: str, parameters: Mapping[str, Any] | None, free: Collection[str]
) -> None:
    """Raise `SettingError` if a folder has results that the run `name` would write over."""
    own = METRICS if parameters is not None else LEFT_BY.get(name, "")
    others = [
        mark for mark in (METRICS, *LEFT_BY.values()) if mark != own and (folder / mark).is_file()
    ]
    if own == METRICS and (folder / METRICS).is_file():
        differences = _differences(folder / METRICS, parameters or {}, free)
        if differences:
            others.append("; ".join(differences))
    if others:
        raise SettingError(
            f"output={folder} holds the results of another run ({others[0]}), which this one would "
            "write over: choose another folder, or move that run away"
        )


def _differences(metrics: Path, parameters: Mapping[str, Any], free: Collection[str]) -> list[str]:
    """How the parameters in a `metrics.json` differ, but for those that are free."""
    try:
        theirs = dict(json.loads(metrics.read_text("utf-8"))["parameters"])
    except (OSError, ValueError, KeyError, TypeError):
        return [f"its {metrics.name} cannot be read"]
    ours = json.loads(json.dumps(dict(parameters)))  # as they are read back
    return [
        f"{name}={theirs.get(name)!r} there, {ours.get(name)!r} here"
        for name in {**ours, **theirs}
        if name not in free and theirs.get(name) != ours.get(name)
    ]
