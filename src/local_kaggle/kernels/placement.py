"""Which machine a push gets, and which image: where Kaggle substitutes without a word."""

from __future__ import annotations

import json
from dataclasses import dataclass

from local_kaggle.api.wire import Message
from local_kaggle.limits import RETIRED, SHAPES, Kind

_KINDS: dict[str, Kind] = {shape.lower(): kind for kind in SHAPES for shape in SHAPES[kind]}
_RETIRED = {shape.lower(): instead for shape, instead in RETIRED.items()}


@dataclass(frozen=True)
class Placement:
    """`shape` as the server keeps it, `kind` it is counted as, and the kind it really `runs_on`."""

    shape: str
    kind: Kind
    runs_on: Kind


def place(request: Message) -> Placement:
    """The machine for a SaveKernel request.

    A retired shape becomes another one, an unknown one the CPU. A TPU push with a pinned image,
    or whose notebook carries `metadata.kaggle`, starts in the CPU image: it is counted as a TPU
    session and sees no TPU (Kaggle/kaggle-cli #1197).
    """
    switched: Kind = "tpu" if request.enable_tpu else "gpu" if request.enable_gpu else "cpu"
    asked_for = request.machine_shape or SHAPES[switched][0]
    shape = _RETIRED.get(asked_for.lower(), asked_for)
    kind = _KINDS.get(shape.lower(), "cpu")
    runs_on: Kind = "cpu" if kind == "tpu" and _wants_own_image(request) else kind
    return Placement(shape, kind, runs_on)


def _wants_own_image(request: Message) -> bool:
    try:
        return bool(request.docker_image) or "kaggle" in json.loads(request.text)["metadata"]
    except (ValueError, TypeError, KeyError):  # a script, or a broken notebook
        return False
