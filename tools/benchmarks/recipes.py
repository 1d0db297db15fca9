"""How good the head's recipes are: out of fold, with their cost over that of the public way."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

BACKBONE, SIZE, FOLDS = "MobileNet-0.75", 192, 5
# The public way runs the frozen backbone over the photos in each of its epochs.
PUBLIC_EPOCHS = 12
# name: (head, features, views). The gradient head as 02_train has it: 30 epochs.
RECIPES = {
    "gradient": ("gradient", "last", 1),
    "logistic": ("logistic", "last", 1),
    "logistic_mirror": ("logistic", "last", 2),
    "logistic_depths": ("logistic", "depths", 1),
    "logistic_depths_mirror": ("logistic", "depths", 2),
}


def run(photos: Path, weights: Path) -> dict[str, Any]:
    """Macro F1 out of fold, its spread over the folds, and the cost, of each recipe.

    `photos`: a folder of class folders, or of TFRecords in the competition's format; their labelled
    splits are put together and dealt out anew. Features are computed once; the cost of a recipe is
    that of its passes of the backbone and of its fit, over `PUBLIC_EPOCHS` passes.
    """
    from benchmarks import material
    from petals.data import tfrecords

    root = photos if (photos / f"tfrecords-jpeg-{SIZE}x{SIZE}").is_dir() else None
    root = root or material.records(photos, (SIZE,))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PETALS_CACHE"] = str(Path(folder) / "cache")
        whole = _labelled(root, Path(folder) / "records", tfrecords)
        result = _measure(whole, weights)
        del os.environ["PETALS_CACHE"]
    return result


def _labelled(root: Path, folder: Path, tfrecords: Any) -> Path:
    """All labelled photos of a dataset as one split, "train", in an order of its own."""
    import numpy as np

    examples = [
        example
        for part in ("train", "val", "test")
        for shard in tfrecords.shards(str(root), SIZE, part)
        for example in tfrecords.read_shard(shard)
        if example.label is not None and example.label >= 0
    ]
    order = np.random.default_rng(0).permutation(len(examples))
    name = tfrecords.shard_name(0, SIZE, len(examples))
    path = Path(tfrecords.folder(folder, SIZE, "train")) / name
    tfrecords.write_shard(path, [examples[number] for number in order])
    return folder


def _measure(root: Path, weights: Path) -> dict[str, Any]:
    import numpy as np

    from petals.data.splits import Split
    from petals.models import weights as pretrained
    from petals.models.backbones import find_backbone
    from petals.models.build import build
    from petals.training import features
    from petals.training.logistic_head import stratified_folds

    split = Split.find(str(root), SIZE, "train")
    key = pretrained.describe(find_backbone(BACKBONE), SIZE, str(weights))
    classifier = build(BACKBONE, SIZE, 2, weights=str(weights), features="depths")
    begun = time.perf_counter()
    found = features.extract(classifier.features, split, key=key, views=2)
    one_pass = (time.perf_counter() - begun) / 2
    last = classifier.backbone.output_shape[-1]  # of the depths, the deepest stands at the end
    labels = found.labels
    result: dict[str, Any] = {"photos": len(labels), "classes": int(labels.max()) + 1}
    folds = stratified_folds(labels, seed=0)
    for name, (head, where, views) in RECIPES.items():
        width = found.values.shape[-1] if where == "depths" else last
        begun = time.perf_counter()
        out = np.zeros((len(labels), result["classes"]), np.float32)
        for held in folds:
            out[held] = _fold(head, found, held, views, width, result["classes"])
        fit = (time.perf_counter() - begun) / FOLDS
        cost = (views * one_pass + fit) / (PUBLIC_EPOCHS * one_pass)
        result[name] = {**_scores(labels, out, folds), "cost": round(cost, 3)}
        print(f"  {name}: {result[name]}", flush=True)
    return result


def _fold(head: str, found: Any, held: Any, views: int, width: int, classes: int) -> Any:
    """Probabilities of the photos held out, by a head that saw the others."""
    from petals.training.compile import set_seed
    from petals.training.features import Features
    from petals.training.head import apply_head, train_head
    from petals.training.logistic_head import fit_head

    class Layer:
        """As much of a classifier as the heads ask for."""

        units, weights = classes, None

        def set_weights(self, weights: Any) -> None:
            self.weights = weights

        def get_weights(self) -> Any:
            return self.weights

    class Classifier:
        head = Layer()

    def part(rows: Any) -> Features:
        return Features(found.values[rows][:, :views, -width:], found.labels[rows], found.ids[rows])

    train, val = part(~held), part(held)
    set_seed(0)
    if head == "logistic":
        fit_head(Classifier, train, val, say=lambda line: None)
    else:
        # The last epoch, not the best one: that would be chosen by the photos held out.
        train_head(
            Classifier, train, train, epochs=30, dropout=0.3, label_smoothing=0.1,
            say=lambda line: None,
        )  # fmt: skip
    return apply_head(Classifier, val)


def _scores(labels: Any, out: Any, folds: list[Any]) -> dict[str, float]:
    import numpy as np

    from petals.evaluation.metrics import Scores

    each = [Scores.of(labels[held], out[held]).macro_f1 for held in folds]
    return {
        "macro_f1": round(Scores.of(labels, out).macro_f1, 4),
        "spread": round(float(np.std(each)), 4),
        "log_loss": round(Scores.of(labels, out).loss, 3),
    }
