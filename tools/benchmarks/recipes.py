"""How good recipes are, from the head alone to fine-tuning: out of fold, with their cost."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from unittest import mock

from benchmarks import fine_tune

BACKBONE = "MobileNet-0.75"
SIZE = 192
FOLDS = 5
# The public way runs the frozen backbone over the photos in each of its epochs.
PUBLIC_EPOCHS = 12
# name: (head, features, views). The gradient head as 02_train has it: 30 epochs.
HEADS = {
    "gradient": ("gradient", "last", 1),
    "logistic": ("logistic", "last", 1),
    "logistic_mirror": ("logistic", "last", 2),
    "logistic_depths": ("logistic", "depths", 1),
    "logistic_depths_mirror": ("logistic", "depths", 2),
}
BEGUN_FROM = "logistic_depths_mirror"  # the head that fine-tuning begins with
VERSION = 2  # of what is kept: raise it when a measurement changes


def run(photos: Path, weights: Path) -> dict[str, Any]:
    """Macro F1 out of fold, its spread over the folds, and the cost, of each recipe.

    `photos`: a folder of class folders, or of TFRecords in the competition's format; train and val
    are divided as `validation=fold:K/N` of 02_train does. The cost is that of the passes of the
    backbone, of the fit and of fine-tuning, over `PUBLIC_EPOCHS` passes, in processors' time: on
    a busy machine it stays the same, and of an accelerator it says nothing. What was measured of
    each fold is kept in the cache: a run that was cut short goes on from there.
    """
    from benchmarks import material

    root = photos if (photos / f"tfrecords-jpeg-{SIZE}x{SIZE}").is_dir() else None
    measured = _Measured.of(root or material.records(photos, (SIZE,)), weights)
    print(f"  kept in {measured.place}", flush=True)
    result: dict[str, Any] = {"photos": len(measured.labels), "classes": measured.classes}
    for name in (*HEADS, *fine_tune.RECIPES):
        result[name] = measured.tuned(name) if name in fine_tune.RECIPES else measured.head(name)
        print(f"  {name}: {result[name]}", flush=True)
    return result


@dataclass
class _Head:
    """As much of a classifier's last layer as the ways to fit a head need."""

    units: int
    weights: Any = None

    def set_weights(self, weights: Any) -> None:
        self.weights = weights

    def get_weights(self) -> Any:
        return self.weights


@dataclass(frozen=True)
class _Classifier:
    head: _Head


@dataclass(frozen=True)
class _Measured:
    """What one pass of the backbone gave, and where the measurements of it are kept.

    `parts`: the images of each fold, in which order the features (images, views, width) and the
    labels come; `seconds`: processors' time of a pass; `last`: the last layer's features.
    """

    place: Path
    weights: Path
    parts: list[Any]
    values: Any
    labels: Any
    seconds: float
    last: int

    @classmethod
    def of(cls, root: Path, weights: Path) -> Self:
        from petals.data.folds import divided
        from petals.data.shards import Split
        from petals.kaggle import cache_folder
        from petals.models.build import build
        from petals.training.optimization import set_seed

        train, val = (Split.find(str(root), SIZE, part) for part in ("train", "val"))
        cache = cache_folder()
        parts = [divided(train, val, FOLDS, fold, cache)[1] for fold in range(FOLDS)]
        set_seed(0)  # so that weights by chance are those that are fine-tuned
        classifier = build(BACKBONE, SIZE, 2, weights=str(weights), depths=True)
        name = repr((VERSION, BACKBONE, SIZE, [part.fingerprint() for part in parts])).encode()
        name += b"".join(values.tobytes() for values in classifier.features.get_weights())
        digest = hashlib.blake2b(name, digest_size=6).hexdigest()
        place = cache / "benchmark" / "recipes" / f"{root.resolve().name}-{digest}"
        measured = kept(place / "features.npz", lambda: _features(classifier.features, parts))
        # Of the depths, the last layer stands at the end.
        last = classifier.backbone.output_shape[-1]
        seconds = float(measured["seconds"])
        return cls(place, weights, parts, measured["values"], measured["labels"], seconds, last)

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def folds(self) -> list[Any]:
        """bool (images,) of each fold: what it holds out."""
        import numpy as np

        number = np.repeat(np.arange(FOLDS), [part.count for part in self.parts])
        return [number == fold for fold in range(FOLDS)]

    def head(self, name: str) -> dict[str, Any]:
        """The row of a head."""
        measured = [self._head(name, fold) for fold in range(FOLDS)]
        return self._row([fold["probabilities"] for fold in measured], self._cost(name, measured))

    def _head(self, name: str, fold: int) -> Any:
        return kept(self.place / f"{name}-{fold}.npz", lambda: self._fitted(name, fold))

    def _cost(self, name: str, measured: list[Any]) -> float:
        fit = sum(float(fold["seconds"]) for fold in measured) / FOLDS
        return (HEADS[name][2] * self.seconds + fit) / (PUBLIC_EPOCHS * self.seconds)

    def tuned(self, name: str) -> dict[str, Any]:
        """The row of a recipe of fine-tuning, with what it gains over its head."""
        import numpy as np

        heads = [self._head(BEGUN_FROM, fold) for fold in range(FOLDS)]
        recipe = hashlib.blake2b(repr(fine_tune.settings(name)).encode(), digest_size=4).hexdigest()
        measured = [
            kept(
                self.place / f"{name}-{recipe}-{fold}.npz", lambda fold=fold: self._tune(name, fold)
            )
            for fold in range(FOLDS)
        ]
        shares = [float(fold["seconds"] / fold["pass_seconds"]) for fold in measured]
        cost = self._cost(BEGUN_FROM, heads) + sum(shares) / FOLDS / PUBLIC_EPOCHS
        row = self._row([fold["probabilities"] for fold in measured], cost)
        before = self._row([fold["probabilities"] for fold in heads], 0.0)
        each = np.mean([fold["epochs"] for fold in measured], axis=0).round(4).tolist()
        return {**row, "gain": round(row["macro_f1"] - before["macro_f1"], 4), "epochs": each}

    def _tune(self, name: str, fold: int) -> dict[str, Any]:
        from petals.data.shards import Split

        rest = [part for number, part in enumerate(self.parts) if number != fold]
        paths = tuple(path for part in rest for path in part.paths)
        train = Split.of(paths, SIZE)
        head = self._head(BEGUN_FROM, fold)
        begun = [head["begun_kernel"], head["begun_bias"]]
        measured = fine_tune.run_fold(
            name,
            train,
            self.parts[fold],
            begun,
            classes=self.classes,
            backbone=BACKBONE,
            image_size=SIZE,
            weights=str(self.weights),
        )
        print(f"  {name}, fold {fold}: macro F1 by epoch {measured['epochs'].round(4)}", flush=True)
        return measured

    def _row(self, probabilities: list[Any], cost: float) -> dict[str, Any]:
        import numpy as np

        from petals.evaluation.metrics import Scores

        each = [
            Scores.of(self.labels[held], guesses)
            for held, guesses in zip(self.folds, probabilities, strict=True)
        ]
        whole = Scores.of(self.labels, np.concatenate(probabilities))
        spread = float(np.std([scores.macro_f1 for scores in each]))
        return {
            "macro_f1": round(whole.macro_f1, 4),
            "spread": round(spread, 4),
            "log_loss": round(whole.loss, 3),
            "cost": round(cost, 3),
        }

    def _fitted(self, name: str, fold: int) -> dict[str, Any]:
        """Probabilities of the images held out, by a head that saw the others."""
        import numpy as np

        from petals.training.callbacks import Training
        from petals.training.features import Features, apply_head
        from petals.training.head import train_head
        from petals.training.logistic_head import fit_head, soften
        from petals.training.optimization import set_seed

        head, where, views = HEADS[name]
        width = self.values.shape[-1] if where == "depths" else self.last
        classifier = _Classifier(_Head(self.classes))

        def part(rows: Any) -> Features:
            return Features(
                self.values[rows][:, :views, -width:], self.labels[rows], np.flatnonzero(rows)
            )

        held = self.folds[fold]
        train = part(~held)
        val = part(held)
        set_seed(0)
        begun = time.process_time()
        training = Training()
        if head == "logistic":
            fit_head(classifier, train, val, training)
        else:
            # The last epoch: the best one would be chosen by the photos held out.
            settings = {"dropout": 0.3, "label_smoothing": 0.1, "weight_decay": 0.0, "seed": 0}
            settings |= {"fine_tune": "all"}  # so the schedule is the head's own
            train_head(classifier, train, val, settings, training, keep_best=False)
        seconds = time.process_time() - begun
        measured = {"probabilities": apply_head(classifier.head, val), "seconds": seconds}
        if name == BEGUN_FROM:
            soften(classifier, train, fine_tune.COMMON["label_smoothing"])
            measured["begun_kernel"], measured["begun_bias"] = classifier.head.get_weights()
        return measured


def kept(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a measurement gave, by name: from `path`, where an earlier process left it there."""
    import numpy as np

    from petals import storage

    if not path.is_file():
        measured = measure()
        with storage.replacing(path) as part:
            np.savez(part, **measured)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def _features(model: Any, parts: list[Any]) -> dict[str, Any]:
    import numpy as np

    from petals.accelerators.detect import Accelerator
    from petals.training.features import FeatureExtractor

    # Found in the cache, they would cost nothing.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"PETALS_CACHE": folder}),
    ):
        begun = time.process_time()
        extract = FeatureExtractor(model, BACKBONE, Accelerator("cpu", "benchmark"))
        extracted = [extract(part, 2) for part in parts]
        seconds = (time.process_time() - begun) / 2
    values, labels = (
        np.concatenate([getattr(part, name) for part in extracted]) for name in ("values", "labels")
    )
    return {"values": values, "labels": labels, "seconds": seconds}
