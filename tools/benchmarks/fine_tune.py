"""The second phase on real photos: how good within five minutes of two cores."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

SETTINGS = {
    "backbone": "MobileNet-0.75",
    "fine_tune": "last:40",
    "epochs": 7,
    "learning_rate": 5e-4,
    "augment": "strong",
    "tta": 2,
}


def run(photos: Path, weights: Path) -> dict[str, Any]:
    """Validation macro F1 and seconds of a whole run of 02_train, both phases and its report."""
    from benchmarks import material
    from kernelkit.runs.run_notebook import run_notebook

    root = material.records(photos, (192,))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        done = run_notebook(
            Path("notebooks/02_train.py"),
            {"data": str(root.resolve()), "weights": str(weights.resolve()), **SETTINGS},
            output=Path(folder),
        )
        seconds = time.perf_counter() - begun
    return {"macro_f1": round(done.metrics["macro_f1"], 4), "seconds": round(seconds)}
