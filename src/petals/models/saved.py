"""A trained classifier as a file that every Keras reads: weights by layer, not by position.

HDF5: attributes `format`, `version`, `model`; datasets `backbone/<layer>/<n>`, of further backbones
`beside<number>/<layer>/<n>`, and `head/<n>`, float32, and `card`, JSON. The key of a layer is the
name that keras.applications gives it. Keras numbers the other layers continuously across models, so
their key is their position among the layers of their kind. Reading such a file runs no code from
it: it contains only numbers and JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
from tensorflow import keras

from petals.errors import WeightsError
from petals.models.card import ModelCard, parse

FORMAT = "petals-classifier"
VERSION = 3  # raise it when the layout changes
CARD = "card"


def read_card(path: str | Path) -> ModelCard:
    """The card of a model file.

    Raises `WeightsError` for a damaged file, one of another version, and one without a card.
    """
    with opened(path) as file:
        _check(file)
        if CARD not in file:
            raise WeightsError(
                f"{path} has no card, which says what its classes are: make the model again with "
                "this version of the kit"
            )
        return parse(file[CARD].asstr()[()], path)


@contextmanager
def opened(path: str | Path) -> Iterator[h5py.File]:
    """An HDF5 file, of this kit or not; raises `WeightsError`, also where reading it fails."""
    try:
        with h5py.File(path) as file:
            yield file
    except WeightsError:
        raise
    except FileNotFoundError:
        raise WeightsError(f"no weights file at {path}") from None
    except Exception as error:  # of a damaged file h5py raises half a dozen kinds
        raise WeightsError(
            f"{path} is damaged, or not a weights file (HDF5): make or download it again"
        ) from error


def fill(
    file: h5py.File,
    name: str,
    network: keras.Model,
    head: keras.layers.Layer | None = None,
    beside: Iterable[keras.Model] = (),
) -> None:
    """Load the weights of a file of `restore.save` into the backbone `name`, and into its head.

    `beside`: the further backbones whose features the head gets.

    Raises `WeightsError` for a file of another model or number of classes, a damaged one, or
    one of another version.
    """
    _check(file)
    if file.attrs["model"] != name:
        raise WeightsError(f"{file.filename} is a trained {file.attrs['model']}, not {name}")
    values = []
    for key, variable in variables(network, head, beside):
        shape = tuple(variable.shape)
        stored = file[key][()]
        if stored.shape != shape:
            raise WeightsError(
                f"{file.filename}: {key} has the shape {stored.shape}, and {shape} in {name}"
            )
        values.append((variable, stored))
    for variable, stored in values:
        variable.assign(stored)


def _check(file: h5py.File) -> None:
    if (file.attrs.get("format"), file.attrs.get("version")) != (FORMAT, VERSION):
        raise WeightsError(
            f"{file.filename} is not a model of this version of petals: make the model again"
        )


def variables(
    network: keras.Model,
    head: keras.layers.Layer | None = None,
    beside: Iterable[keras.Model] = (),
) -> Iterator[tuple[str, Any]]:
    """(key in the file, variable) of all layers, without the counters that each Keras adds."""
    yield from _of_network("backbone", network)
    for number, other in enumerate(beside, 1):
        yield from _of_network(f"beside{number}", other)
    for number, variable in enumerate(head.weights if head else ()):
        yield f"head/{number}", variable


def _of_network(place: str, network: keras.Model) -> Iterator[tuple[str, Any]]:
    layers = [layer for layer in network.layers if layer.weights]
    for layer, key in zip(layers, _keys(layers), strict=True):
        floats = [v for v in layer.weights if "float" in getattr(v.dtype, "name", v.dtype)]
        for number, variable in enumerate(floats):
            yield f"{place}/{key}/{number}", variable


def _keys(layers: list[keras.layers.Layer]) -> list[str]:
    numbered: dict[str, list[int]] = {}
    parts: list[tuple[str, int | None]] = []
    for layer in layers:
        kind = re.sub(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", type(layer).__name__)
        match = re.fullmatch(rf"({kind.lower()})(?:_(\d+))?", layer.name)
        if match:
            count = int(match[2] or 0)
            parts.append((match[1], count))
            numbered.setdefault(match[1], []).append(count)
        else:
            parts.append((layer.name, None))
    keys = []
    for stem, number in parts:
        if number is None:
            keys.append(stem)
        else:
            place = sorted(numbered[stem]).index(number)
            keys.append(f"{stem}#{place}")
    return keys
