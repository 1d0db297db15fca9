"""Rebuild a trained model from a run's file, wherever that file is now."""

from pathlib import Path

from petals.errors import WeightsError
from petals.kaggle import attached, mounts, on_kaggle, runs_folder
from petals.models import saved
from petals.models.backbones import find_local_file
from petals.models.build import Classifier, build
from petals.models.card import ModelCard

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
            scored.append((saved.read_card(path)[0].score, path))
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


def restore(path: str | Path, weights: str = AUTO) -> tuple[Classifier, ModelCard]:
    """The classifier in a model file, with its card.

    `weights`: for a file with only a head, the backbone's weights, as in
    `petals.models.backbones.Weights.find`; "auto" first looks for the file that the run used.
    Raises `WeightsError` for a damaged file, and for other weights than the head was trained on.
    """
    card, whole = saved.read_card(path)
    if not whole and weights == AUTO:
        weights = str(find_local_file(card.weights.get("file", "")) or AUTO)
    setting = "none" if whole else weights
    try:
        classifier = build(
            card.backbone, card.image_size, len(card.classes), weights=setting, **card.build
        )
    except TypeError as error:
        raise WeightsError(f"{path} was made by another version of the kit ({error})") from None
    if not whole and saved.digest(classifier.backbone) != card.weights.get("digest"):
        source = card.weights.get("file") or f"ImageNet weights of {card.backbone}"
        raise WeightsError(
            f"the head in {path} was trained on {source}, and other weights were found: give that "
            "file as weights=FILE"
        )
    saved.load(classifier, path)
    return classifier, card
