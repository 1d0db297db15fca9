"""The output of every run: scores, history, predictions, a submission."""

import base64
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from petals import resources, storage
from petals.accelerators import cluster, compilation
from petals.accelerators.detect import Accelerator
from petals.data.dataset import Dataset
from petals.data.shards import SPLITS, Split
from petals.errors import SettingError
from petals.evaluation.calibration import Calibration
from petals.evaluation.intervals import Intervals
from petals.evaluation.metrics import Scores
from petals.kaggle import on_kaggle, runs_folder
from petals.models.backbones import Weights
from petals.models.build import Classifier, find_backbone
from petals.models.card import ModelCard, printable
from petals.models.hub import config_of
from petals.models.restore import FILE, save
from petals.plots import records, run
from petals.settings import FREE
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
    FILE,
)

METRICS = "metrics.json"
# The file by which the folder of a notebook that trains nothing is known, by the folder's name.
LEFT_BY = {"compare": "comparison.json", "predict": "predictions.csv"}


class RunFolder:
    """The folder that `output` names; every file in it is written atomically.

    `output` "" means the working directory on Kaggle, and locally `runs/<name>` in the repository,
    whatever folder the notebook was started in; a notebook that trains nothing has a name of its
    own, so that it does not write over the files of a trained run. With several hosts, only the
    first writes there; the files of the others are deleted when they end. `training`: whether a run
    of 02_train begins here; on Kaggle, `resources.csv` then records memory and CPU until the
    metrics are written. `parameters`: those of a run that trains.

    Raises `SettingError` if `output` names a folder with the results of another run, which this one
    would write over. A training with the same parameters may be repeated, or go on, in its folder.
    """

    def __init__(
        self,
        output: str = "",
        name: str = "latest",
        *,
        training: bool = False,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        default = Path() if on_kaggle() else runs_folder() / name
        self.path = Path(output) if output else default
        if output:
            _refuse_another_run(self.path, name, parameters)
        if not cluster.here().first:
            self._elsewhere = tempfile.TemporaryDirectory(prefix="petals-")
            self.path = Path(self._elsewhere.name)
        self.begun = time.monotonic()
        self.seconds_before = 0.0
        if training and on_kaggle():
            resources.record(self.path)
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
        """Save a figure as `run.save` does, and return it for display, above its caption.

        `figures.json` keeps caption and text of all figures, for a report made from the files; the
        text describes a figure to somebody who cannot see it.
        """
        words = {"caption": str(figure.get_label()), "text": run.in_words(figure)}
        path = run.save(figure, self.path, name)
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

    def write_evaluation(
        self, split: Split, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
    ) -> None:
        """Write the files that a report shows about the validation `split`; see
        `petals.plots.records`.

        Writes `class_scores.csv`, `confusion.csv`, `calibration.csv` with its conclusion in
        `calibration.txt`, and with photos `confused.json` and `mistakes.json`.
        """
        answers = (labels, probabilities, names)
        texts = {
            "class_scores.csv": records.class_scores(*answers),
            "confusion.csv": records.matrix(*answers),
            "calibration.csv": records.calibration(labels, probabilities),
            "calibration.txt": records.conclusion(labels, probabilities),
        }
        for name, text in texts.items():
            storage.write_text(self._file(name), text)
        storage.write_json(self._file("confused.json"), records.confused(split, *answers))
        storage.write_json(self._file("mistakes.json"), records.mistakes(split, *answers))

    def write_gallery(self, images: np.ndarray, captions: Sequence[str]) -> None:
        """`gallery.json`: photos, uint8 (n, size, size, 3), with their captions, for a report."""
        storage.write_json(self._file("gallery.json"), records.gallery(images, captions))

    def write_model(
        self, classifier: Classifier, classes: Sequence[str], metrics: Mapping[str, Any]
    ) -> None:
        """Write the model, `classifier.h5`, and its card, `model_card.md`, for use after the run.

        `metrics`: from `write_metrics`.
        """
        backbone = find_backbone(classifier.name)
        size = int(metrics["data"]["image_size"])
        build: dict[str, Any] = {"depths": classifier.depths}
        if backbone.preset:  # it may no longer exist when its model is used
            build["hub_config"] = config_of(classifier.backbone, classifier.name)
        if classifier.beside:
            build["beside"] = dict.fromkeys(classifier.beside)
            for name, network in classifier.beside.items():
                if find_backbone(name).preset:
                    build["beside"][name] = config_of(network, name)
        card = ModelCard(
            classifier.name,
            size,
            tuple(map(printable, classes)),
            backbone.family.preprocessing,
            Weights.find(backbone, size, metrics["parameters"]["weights"]).origin,
            build,
            metrics["temperature"] or 1.0,
            {name: metrics[name] for name in ("macro_f1", "accuracy", "calibration_error")},
            _intervals_in_words(metrics["intervals"]),
            metrics["reliability"],
            metrics["data"],
            {name: metrics[name] for name in ("parameters", "versions", "git")},
        )
        save(classifier, self._file(FILE), card)
        storage.write_text(self._file("model_card.md"), card.as_markdown())

    def write_metrics(
        self,
        scores: Scores | None,
        history: History,
        *,
        accelerator: Accelerator,
        dataset: Dataset,
        counts: tuple[int, int],
        parameters: Mapping[str, Any],
        calibration: Calibration | None = None,
        intervals: Intervals | None = None,
        chance: Mapping[str, float] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """Write `metrics.json`, the flat schema that sweeps and reports read; returns it.

        `counts`: (total, trainable) parameters. Seconds are wall time. `scores` are null if nothing
        was validated. `warnings` are those of the dataset and of `warn`; `chance`: the scores of
        guessing.
        """
        after = calibration.after if calibration else None
        measured = asdict(scores) if scores else dict.fromkeys(f.name for f in fields(Scores))
        data = {
            "source": str(dataset.source),
            "name": dataset.source.name,
            "image_size": dataset.train.size,
            "record_size": dataset.train.stored_size,
            **dict.fromkeys(SPLITS, 0),
            **{name: split.count for name, split in dataset.splits.items()},
        }
        if dataset.source.submitted:
            data["submitted"] = dataset.source.submitted
        metrics = {
            **measured,
            "seconds": round(self.seconds, 3),
            **_speed(history, parameters.get("batch_size", 0) * accelerator.replicas),
            "epochs": len(history),
            "total_params": counts[0],
            "trainable_params": counts[1],
            "device": accelerator.as_dict() | compilation.facts(),
            "parameters": dict(parameters),
            "data": data,
            "added": [addition.summary() for addition in dataset.added],
            "intervals": intervals.as_dict() if intervals else {},
            "chance": chance or {},
            "warnings": [*dataset.warnings, *self.warnings],
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "temperature": calibration.temperature if calibration else None,
            "calibration_error": after.error if after else None,
            "reliability": after.as_lists() if after else {},
            "versions": versions(),
            "git": git_state(),
            **extra,
        }
        storage.write_json(self._file(METRICS), metrics)
        resources.stop(self.path)
        return metrics


def _intervals_in_words(intervals: Mapping[str, Any]) -> dict[str, str]:
    """`0.921 to 0.957 in 95 % of resamples` for each score, from the `intervals` of metrics."""
    words = {}
    for name in ("macro_f1", "accuracy"):
        if name in intervals:
            low, high = intervals[name]
            share = round(100 * intervals["level"])
            words[name] = f"{low:.3f} to {high:.3f} in {share} % of resamples"
    return words


def _refuse_another_run(folder: Path, name: str, parameters: Mapping[str, Any] | None) -> None:
    """Raise `SettingError` if a folder has results that the run `name` would write over."""
    own = METRICS if parameters is not None else LEFT_BY.get(name, "")
    others = [
        mark for mark in (METRICS, *LEFT_BY.values()) if mark != own and (folder / mark).is_file()
    ]
    if own == METRICS and (folder / METRICS).is_file():
        differences = _differences(folder / METRICS, parameters or {})
        if differences:
            others.append("; ".join(differences))
    if others:
        raise SettingError(
            f"output={folder} holds the results of another run ({others[0]}), which this one would "
            "write over: choose another folder, or move that run away"
        )


def _differences(metrics: Path, parameters: Mapping[str, Any]) -> list[str]:
    """How the parameters in a `metrics.json` differ, but for those that a resumed run may set."""
    try:
        theirs = dict(json.loads(metrics.read_text("utf-8"))["parameters"])
    except (OSError, ValueError, KeyError, TypeError):
        return [f"its {metrics.name} cannot be read"]
    ours = json.loads(json.dumps(dict(parameters)))  # as they are read back
    return [
        f"{name}={theirs.get(name)!r} there, {ours.get(name)!r} here"
        for name in {**ours, **theirs}
        if name not in FREE and theirs.get(name) != ours.get(name)
    ]


def _speed(history: History, batch: int) -> dict[str, float | None]:
    """The pace of the last phase; the seconds of a step include its input.

    `first_epoch_compile_seconds` is the part of the first epoch in which JAX compiled: 0 where
    nothing is known of it, None where the epoch was not one of gradients.
    """
    last_phase = history[-1]["phase"]
    first, *later = [row for row in history if row["phase"] == last_phase]
    rate = history[-1]["images_per_second"]
    return {
        "first_epoch_seconds": first["seconds"],
        "first_epoch_compile_seconds": first.get("compile_seconds"),
        "later_epoch_seconds": fmean(row["seconds"] for row in later) if later else None,
        "images_per_second": rate,
        "step_seconds": batch / rate if rate and batch else None,
    }
