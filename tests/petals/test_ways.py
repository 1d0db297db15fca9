"""Training passes through no more modules than a reader can follow."""

import nbformat
import pytest
from checkouts import ROOT
from tensorflow import keras
from ways import Arrived, Way

NOTEBOOK = ROOT / "notebooks" / "02_train.ipynb"


@pytest.mark.long
def test_from_02_train_to_the_first_gradient(dataset, tmp_path, monkeypatch):

    def apply(*_, **__):
        raise Arrived

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keras.optimizers.AdamW, "apply", apply)
    given = {
        "data": str(dataset),
        "image_size": 32,
        "backbone": "SmallNet",
        "weights": "none",
        "head": "gradient",
        "accelerator": "cpu",
        "output": str(tmp_path / "run"),
    }
    names = {"__name__": "__main__"}
    with Way("petals") as way:
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, "cell", "exec"), names)
                if "parameters" in cell.metadata.get("tags", []):
                    names |= given
        pytest.fail("no gradient was computed")
    way.assert_short("data/dataset", "training/head", modules=20, rooms=5)
