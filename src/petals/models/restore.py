"""Save a trained model, and rebuild it from its file, wherever that is now."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from petals import storage
from petals.errors import WeightsError
from petals.kaggle import attached, mounts, on_kaggle, runs_folder
from petals.models import saved
from petals.models.backbones import Weights
from petals.models.build import Classifier, build, find_backbone
from petals.models.card import ModelCard, printable
from petals.models.hub import config_of

FILE = "classifier.h5"  # in the folder of a run
CARD = "model_card.md"
AUTO = "auto"
HOME = ("*", "*/*")  # folders of runs and of sweeps; deeper ones are outputs of rehearsals


def find_model(model: str = AUTO) -> Path:
    """The file of the model to use.

    `model`: a file, the folder of a run, or "auto": the model with the best macro F1 among all
    attached datasets, models and notebook outputs on Kaggle, or locally in `runs/`. Raises a
    `WeightsError` that says where it looked.
    """
    if model != AUTO:
        path = Path(model).expanduser()
        path = path / FILE if path.is_dir() else path
        if not path.is_file():
            raise WeightsError(f"no model at {path}: give a run's {FILE}, or the run's folder")
        return path
    if on_kaggle():
        found = attached(FILE)
    else:
        found = [path for depth in HOME for path in sorted(runs_folder().glob(f"{depth}/{FILE}"))]
    scored = []
    for path in found:
        try:
            scored.append((saved.read_card(path).score, path))
        except WeightsError as error:
            print(f"left out: {error}")
    if not scored:
        raise WeightsError(
            f"no {FILE} under {mounts()}: attach the kernel, dataset or model that holds one "
            "(kernel_sources, dataset_sources, model_sources), or set model=FILE"
            if on_kaggle()
            else f"no {FILE} in runs/: make one with kernelkit run notebooks/02_train.py, "
            "or set model=FILE"
        )
    score, best = max(scored, key=lambda pair: pair[0])
    if len(scored) > 1:
        print(f"of {len(scored)} models model=auto takes {best} (macro F1 {score:.4f})")
    return best


def save(
    classifier: Classifier,
    path: str | Path,
    card: ModelCard | None = None,
) -> None:
    """Write the weights of a classifier atomically.

    A file without `card` is enough for `load`, but cannot be used by itself.
    """
    with storage.replacing(path) as part, h5py.File(part, "w") as file:
        file.attrs.update(
            {"format": saved.FORMAT, "version": saved.VERSION, "model": classifier.name}
        )
        if card:
            file[saved.CARD] = card.as_json()
        networks = classifier.backbone, classifier.head, classifier.beside.values()
        for key, variable in saved.variables(*networks):
            file[key] = np.asarray(variable.numpy(), np.float32)


def load(classifier: Classifier, path: str | Path) -> None:
    """Load a file of `save` into a classifier, completely or not at all.

    Raises `WeightsError` for a file of another model or number of classes, a damaged one, or
    one of another version.
    """
    with saved.opened(path) as file:
        networks = classifier.backbone, classifier.head, classifier.beside.values()
        saved.fill(file, classifier.name, *networks)


def restore(path: str | Path) -> tuple[Classifier, ModelCard]:
    """The classifier in a model file, with its card; raises `WeightsError` for a damaged file."""
    card = saved.read_card(path)
    classes = len(card.classes)
    try:
        classifier = build(card.backbone, card.image_size, classes, weights="none", **card.build)
    except TypeError as error:
        raise WeightsError(f"{path} was made by another version of the kit ({error})") from None
    load(classifier, path)
    return classifier, card


def write_model(
    folder: Path, classifier: Classifier, classes: Sequence[str], metrics: Mapping[str, Any]
) -> None:
    """Write a run's model, `classifier.h5`, and its card, `model_card.md`, for use after the run.

    `metrics`: from `petals.run_folder.RunFolder.write_metrics`.
    """
    backbone = find_backbone(classifier.name)
    size = int(metrics["data"]["image_size"])
    arguments: dict[str, Any] = {"depths": classifier.depths}
    if backbone.preset:  # it may no longer exist when its model is used
        arguments["hub_config"] = config_of(classifier.backbone, classifier.name)
    if classifier.beside:
        arguments["beside"] = dict.fromkeys(classifier.beside)
        for name, network in classifier.beside.items():
            if find_backbone(name).preset:
                arguments["beside"][name] = config_of(network, name)
    card = ModelCard(
        classifier.name,
        size,
        tuple(map(printable, classes)),
        backbone.family.preprocessing,
        Weights.find(backbone, size, metrics["parameters"]["weights"]).origin,
        arguments,
        metrics["temperature"] or 1.0,
        {name: metrics[name] for name in ("macro_f1", "accuracy", "calibration_error")},
        _intervals_in_words(metrics["intervals"]),
        metrics["reliability"],
        metrics["data"],
        {name: metrics[name] for name in ("parameters", "versions", "git")},
    )
    save(classifier, folder / FILE, card)
    storage.write_text(folder / CARD, card.as_markdown())


def _intervals_in_words(intervals: Mapping[str, Any]) -> dict[str, str]:
    """`0.921 to 0.957 in 95 % of resamples` for each score, from the `intervals` of metrics."""
    words = {}
    for name in ("macro_f1", "accuracy"):
        if name in intervals:
            low, high = intervals[name]
            share = round(100 * intervals["level"])
            words[name] = f"{low:.3f} to {high:.3f} in {share} % of resamples"
    return words
