import json

import pytest
from kagglesdk.kernels.types.kernels_api_service import ApiSaveKernelRequest

from local_kaggle.kernels.kernels import Placement, place


def placed(fields, **metadata):
    text = json.dumps({"cells": [], "metadata": metadata})
    return place(ApiSaveKernelRequest.from_dict({"text": text, **fields}))


@pytest.mark.parametrize(
    ("fields", "shape", "kind"),
    [
        ({}, "", "cpu"),
        ({"enableGpu": True}, "NvidiaTeslaT4", "gpu"),
        ({"machineShape": "TpuV38"}, "TpuV5E8", "tpu"),
        ({"machineShape": "TpuV232", "enableTpu": True}, "", "cpu"),
        ({"machineShape": "tpuv5e8"}, "tpuv5e8", "tpu"),
        ({"machineShape": "Abacus"}, "Abacus", "cpu"),
    ],
)
def test_the_server_substitutes_in_silence(fields, shape, kind):
    assert placed(fields) == Placement(shape, kind, kind)


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [({}, {"dockerImage": "gcr.io/image"}), ({"kaggle": {"isGpuEnabled": False}}, {})],
)
def test_an_image_of_its_own_takes_the_tpu_away_but_not_its_price(metadata, fields):
    placement = placed(fields | {"enableTpu": True}, **metadata)
    assert (placement.kind, placement.runs_on) == ("tpu", "cpu")
    assert placed(fields | {"enableGpu": True}, **metadata).runs_on == "gpu"
