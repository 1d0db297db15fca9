"""Pretrained weights: find the file by its name, check it, load it whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import h5py
from tensorflow import keras

from petals import storage
from petals.errors import WeightsError
from petals.kaggle import find_file, mounts, on_kaggle
from petals.models import hub, saved
from petals.models.backbones import Backbone, correct_normalization
from petals.models.card import licence

LOCAL_FOLDERS = ("weights", "data/weights", "~/.keras/models")


def load_backbone(backbone: Backbone, size: int, weights: str) -> keras.Model:
    """Build a backbone and fill it.

    `weights`: "none" leaves the network untrained; "imagenet" lets Keras download the weights or
    take them from its cache; "auto" takes a file with Keras's own name from the Kaggle inputs or
    the `LOCAL_FOLDERS`, and else downloads; any other value is the path of a file, or the name of
    one among the Kaggle inputs.
    Raises `WeightsError`, whose message says what to do.
    """
    if isinstance(backbone, hub.HubBackbone) and weights in ("imagenet", "auto"):
        return backbone.build(size, "imagenet")  # the preset's own weights, whatever they learnt
    network = backbone.build(size)
    if weights not in ("none", "imagenet", "auto"):
        load_file(network, _given(weights), backbone.name)
    elif weights != "none" and not backbone.weights_file:
        if weights == "imagenet":
            raise WeightsError(f"{backbone.name} has no ImageNet weights: set weights='none'")
    elif weights == "auto" and (path := find_weights_file(backbone, size)):
        load_file(network, path, backbone.name)
    elif weights != "none":
        network.set_weights(_download(backbone, size))
    correct_normalization(network)
    return network


def describe(backbone: Backbone, size: int, weights: str) -> str:
    """A cache key for a weights setting: the digest of a file, or the name of a download."""
    path = _file(backbone, size, weights)
    if path is None:
        return f"{backbone.name}-{weights}"
    return f"{backbone.name}-{storage.digest(path)}"


def _file(backbone: Backbone, size: int, weights: str) -> Path | None:
    if weights == "auto":
        return find_weights_file(backbone, size)
    return None if weights in ("none", "imagenet") else _given(weights)


def _given(weights: str) -> Path:
    """The file of that path, or of that name in any attached dataset, model or notebook output."""
    path = Path(weights).expanduser()
    attached = find_file(weights) if path.name == weights and not path.is_file() else None
    return attached or path


def origin(backbone: Backbone, size: int, weights: str) -> dict[str, str]:
    """The origin of the weights, for the model's card: setting, file and licence."""
    path = _file(backbone, size, weights)
    preset = isinstance(backbone, hub.HubBackbone)
    if not path and not backbone.weights_file and not preset:
        weights = "none"
    setting = weights if weights in ("none", "imagenet", "auto") else "file"
    terms = licence(backbone.name, setting)
    return {"setting": setting, "file": path.name if path else "", "licence": terms}


def stays(backbone: Backbone, size: int, weights: str) -> bool:
    """Whether a later run finds the same weights in a file, so that a head needs no copy of them.

    Weights that a Kaggle session downloaded are gone with it; attached ones can be attached again.
    """
    path = _file(backbone, size, weights)
    return path is not None and (not on_kaggle() or path.absolute().is_relative_to(mounts()))


def find_weights_file(backbone: Backbone, size: int) -> Path | None:
    """The first file with one of Keras's own names, in the Kaggle inputs and local folders."""
    names = backbone.weights_files(size)
    # Keras 3 writes the same weights under NAME.weights.h5
    names += [name.removesuffix(".h5") + ".weights.h5" for name in names]
    for name in names:
        for folder in map(Path, map(os.path.expanduser, LOCAL_FOLDERS)):
            if (folder / name).is_file():
                return folder / name
        if found := find_file(name):
            return found
    return None


def _download(backbone: Backbone, size: int) -> list:
    try:
        return backbone.build(size, weights="imagenet").get_weights()
    except Exception as error:  # urllib, http and ssl raise different kinds
        names = " or ".join(backbone.weights_files(size))
        # A session, rehearsed or not, does not have the folders of the desk.
        way = "Attach a Kaggle dataset or model that holds" if on_kaggle() else "Put into weights/"
        raise WeightsError(
            f"the ImageNet weights of {backbone.name} could not be downloaded "
            f"({type(error).__name__}). {way} {names}, or set weights='none'"
        ) from None


def load_file(network: keras.Model, path: Path, name: str) -> None:
    """Load a weights file of either Keras generation, or of `petals.models.saved`, into a network.

    Raises `WeightsError`, with both parameter counts, unless the file has exactly this network's
    weights. After an error the network must not be used: some of its weights may be replaced.
    """
    if not path.is_file():
        raise WeightsError(f"no weights file at {path}")
    if saved.holds(path):
        saved.load_backbone(network, path, name)
        return
    try:
        with h5py.File(path) as file:
            legacy = "layer_names" in file.attrs or "model_weights" in file
            held = _parameters(file)
    except OSError:
        raise WeightsError(f"{path} is not a Keras weights file (HDF5)") from None
    wanted = network.count_params()
    if held != wanted:
        raise WeightsError(
            f"{path} does not hold the weights of {name}: it has {held:,} parameters, "
            f"{name} has {wanted:,}"
        )
    try:
        _load(network, path, legacy)
    except Exception as error:  # Keras raises ValueError, KeyError, TypeError by the mismatch
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise WeightsError(f"{path} does not fit {name}: {first}") from None


def _load(network: keras.Model, path: Path, legacy: bool) -> None:
    # Keras chooses its reader by the ending, but files in the old format have either ending.
    right_ending = path.name.endswith(".weights.h5") != legacy
    if right_ending:
        network.load_weights(str(path))
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / ("weights.h5" if legacy else "network.weights.h5")
        link.symlink_to(path.resolve())
        network.load_weights(str(link))


def _parameters(file: h5py.File) -> int:
    return sum(dataset.size for dataset in _datasets(file))


def _datasets(group: h5py.Group) -> Iterator[h5py.Dataset]:
    for name, item in group.items():
        if isinstance(item, h5py.Dataset):
            yield item
        elif not name.startswith(("optimizer", "seed_generator")):
            yield from _datasets(item)
