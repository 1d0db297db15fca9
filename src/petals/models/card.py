"""The card in a model file: everything needed to rebuild the model and to judge it."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from petals.errors import WeightsError

LARGEST_SIZE = 4096  # pixels a side of what a model takes


@dataclass(frozen=True)
class ModelCard:
    """The facts about a trained model.

    backbone       its name in the registry, or hub:PRESET
    image_size     pixels a side that the model takes, as uint8 RGB
    classes        names in label order
    preprocessing  how pixels reach the backbone; it is part of the model
    weights        what the backbone began with: setting, file, licence
    build          further arguments of `petals.models.build.build`
    temperature    divides the logits; fitted on the validation set
    scores         of the validation set; calibration error after the temperature
    intervals      how far these would vary with other photos, in words
    reliability    counts, confidence and accuracy of the answers by confidence
    data           the training data, and the number of images
    about          parameters, versions and commit of the run
    """

    backbone: str
    image_size: int
    classes: tuple[str, ...]
    preprocessing: str
    weights: Mapping[str, str]
    build: Mapping[str, Any] = field(default_factory=dict)
    temperature: float = 1.0
    scores: Mapping[str, float | None] = field(default_factory=dict)
    intervals: Mapping[str, str] = field(default_factory=dict)
    reliability: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Macro F1 on the validation set; -1 if there was none."""
        value = self.scores.get("macro_f1")
        return -1.0 if value is None else float(value)

    @property
    def backbones(self) -> list[str]:
        """The backbone, and those whose features the head gets beside its own."""
        beside = self.build.get("beside") or {}
        return [self.backbone, *beside]

    @property
    def views(self) -> int:
        """The views of a photo that were averaged when the temperature was fitted."""
        parameters = self.about.get("parameters")
        views = parameters.get("views") if isinstance(parameters, dict) else 1
        return views if views in (1, 2) else 1

    def as_json(self) -> str:
        """The card as `parse` reads it."""
        return json.dumps(asdict(self), indent=1)

    def check(self, classes: Sequence[str], size: int, path: object) -> None:
        """Raise `WeightsError` unless the model of `path` fits these classes and this size."""
        if [_key(name) for name in classes] != [_key(name) for name in self.classes]:
            raise WeightsError(
                f"{path} was trained on other classes than the data has ({len(self.classes)} and "
                f"{len(classes)}), or in another order: use a model that was trained on these"
            )
        if size != self.image_size:
            raise WeightsError(
                f"{path} takes images of {self.image_size} pixels, not {size}: set "
                f"image_size={self.image_size}"
            )

    def _listed_scores(self) -> str:
        texts = []
        for name, value in self.scores.items():
            if value is None:
                continue
            text = _listed({name: value})
            if name in self.intervals:
                text += f" ({self.intervals[name]})"
            texts.append(text)
        return ", ".join(texts)

    def as_markdown(self) -> str:
        """The card for people."""
        rows = {
            "backbone": f"{' and '.join(self.backbones)}, {self.image_size} px, preprocessing "
            f"{self.preprocessing!r} inside",
            "classes": f"{len(self.classes)}: {', '.join(map(_escaped, self.classes))}",
            "weights": f"{self.weights.get('setting')} {self.weights.get('file')}".strip(),
            "licence of the weights": self.weights.get("licence"),
            "scores on validation": self._listed_scores()
            or "none: trained on the validation photos too",
            "temperature": f"{self.temperature:.3f}",
            "data": _listed(self.data),
        }
        lines = [f"| {name} | {value} |" for name, value in rows.items()]
        return "\n".join(["# Model card", "", "| | |", "|---|---|", *lines, ""])


def _escaped(name: str) -> str:
    """A name in Markdown, in which `$` begins a formula and `|` a cell."""
    return re.sub(r"([\\`*_{}\[\]<>|$~])", r"\\\1", name)


def _listed(values: Mapping[str, Any]) -> str:
    parts = []
    for name, value in values.items():
        text = f"{value:.4f}" if isinstance(value, float) else value
        parts.append(f"{name.replace('_', ' ')} {text}")
    return ", ".join(parts)


def printable(name: str) -> str:
    """A class name with escapes for control characters and for bytes that are not text."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def _key(name: str) -> str:
    return " ".join(printable(name).split()).casefold()


def parse(text: str, path: object) -> ModelCard:
    """The card in a model file; raises `WeightsError` if it is damaged."""
    try:
        values = json.loads(text)
        values["classes"] = tuple(values["classes"])
        card = ModelCard(**values)
        is_whole = _is_whole(card)
    except (ValueError, TypeError, KeyError):
        is_whole = False
    if not is_whole:
        raise WeightsError(f"{path} has a damaged card: make the model again")
    return card


def _is_whole(card: ModelCard) -> bool:
    """Whether the values of a card are of the right kinds; may raise `TypeError` for others."""
    texts = (*card.classes, card.backbone, *dict(card.intervals).values())
    if not card.classes or not all(isinstance(t, str) and t.isprintable() for t in texts):
        return False
    mappings = (card.weights, card.build, card.about, card.scores, card.reliability)
    if not all(isinstance(mapping, dict) for mapping in mappings):
        return False
    if not isinstance(card.image_size, int) or not 0 < card.image_size <= LARGEST_SIZE:
        return False
    return math.isfinite(card.temperature) and card.temperature > 0
