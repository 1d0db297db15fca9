from __future__ import annotations

import json

import pytest
from kagglesdk.kernels.types.kernels_api_service import ApiSaveKernelRequest

from local_kaggle.api.wire import fill
from local_kaggle.kernels.kernels import Placement, place


def placed(metadata: dict[str, object] | None = None, **fields: object) -> Placement:
    text = json.dumps({"cells": [], "metadata": metadata or {}})
    return place(fill(ApiSaveKernelRequest(), text=text, **fields))


@pytest.mark.parametrize(
    ("fields", "shape", "kind"),
    [
        ({}, "", "cpu"),
        ({"enable_gpu": True}, "NvidiaTeslaT4", "gpu"),
        ({"enable_tpu": True}, "TpuV5E8", "tpu"),
        ({"machine_shape": "TpuV38"}, "TpuV5E8", "tpu"),
        ({"machine_shape": "NvidiaTeslaP100"}, "NvidiaTeslaT4", "gpu"),
        ({"machine_shape": "TpuV232", "enable_tpu": True}, "", "cpu"),
        ({"machine_shape": "tpuv5e8"}, "tpuv5e8", "tpu"),
        ({"machine_shape": "Abacus"}, "Abacus", "cpu"),
    ],
)
def test_the_server_substitutes_in_silence(fields, shape, kind):
    assert placed(**fields) == Placement(shape, kind, kind)


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [({}, {"docker_image": "gcr.io/image"}), ({"kaggle": {"isGpuEnabled": False}}, {})],
)
def test_an_image_of_its_own_takes_the_tpu_away_but_not_its_price(metadata, fields):
    placement = placed(metadata, enable_tpu=True, **fields)
    assert (placement.kind, placement.runs_on) == ("tpu", "cpu")
    assert placed(metadata, enable_gpu=True, **fields).runs_on == "gpu"
