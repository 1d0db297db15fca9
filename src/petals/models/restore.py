"""Rebuild a trained model from a run's file, wherever that file is now."""

from pathlib import Path

from petals.errors import WeightsError
from petals.kaggle import attached, mounts, on_kaggle, runs_folder
from petals.models import saved
from petals.models.build import build
from petals.models.card import ModelCard
from petals.models.classifier import Classifier

FILE = "classifier.h5"  # in the folder of a run
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
    here = [path for depth in HOME for path in sorted(runs_folder().glob(f"{depth}/{FILE}"))]
    scored = []
    for path in attached(FILE) if on_kaggle() else here:
        try:
            scored.append((saved.read_card(path).score, path))
        except WeightsError as error:
            print(f"left out: {error}")
    if not scored:
        raise WeightsError(
            f"no {FILE} under {mounts()}: attach the kernel, dataset or model that holds one "
            "(kernel_sources, dataset_sources, model_sources), or set model=FILE"
            if on_kaggle()
            else f"no {FILE} in runs/: make one with tools/run_notebook.py notebooks/02_train.py, "
            "or set model=FILE"
        )
    score, best = max(scored, key=lambda pair: pair[0])
    if len(scored) > 1:
        print(f"of {len(scored)} models model=auto takes {best} (macro F1 {score:.4f})")
    return best


def restore(path: str | Path) -> tuple[Classifier, ModelCard]:
    """The classifier in a model file, with its card; raises `WeightsError` for a damaged file."""
    card = saved.read_card(path)
    classes = len(card.classes)
    try:
        classifier = build(card.backbone, card.image_size, classes, weights="none", **card.build)
    except TypeError as error:
        raise WeightsError(f"{path} was made by another version of the kit ({error})") from None
    saved.load(classifier, path)
    return classifier, card
