"""JAX's compiled programs, kept in the run folder: a second start over the first one."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BACKBONES = ("SmallNet", "MobileNet-0.25")
SIZE, BATCH, CLASSES = 96, 64, 104


def run() -> dict[str, Any]:
    """Seconds from a process's start to the end of its first step and first prediction.

    On JAX with eight CPU devices; the first process finds an empty run folder, the second the
    one that the first left. The ratio is also given of the processors' seconds, which other
    work on the machine hardly changes.
    """
    from benchmarks import process

    result: dict[str, Any] = {}
    for backbone in BACKBONES:
        with tempfile.TemporaryDirectory() as folder:
            environment = process.jax_devices(8) | {"KERNELKIT_INPUT_ROOT": f"{folder}/none"}
            first, second = (
                process.measure("compile", environment, backbone, folder) for _ in range(2)
            )
            programs = [path for path in Path(folder).rglob("*") if path.is_file()]
            megabytes = sum(path.stat().st_size for path in programs) / 1e6
        result[backbone] = {
            "first_start": first,
            "second_start": second,
            "second_over_first": {what: round(second[what] / first[what], 2) for what in first},
            "programs": f"{len(programs)} files, {megabytes:.1f} MB",
        }
    return result


def _worker(begun: float, backbone: str, folder: str) -> dict[str, float]:
    """Seconds since `begun` at which the model stood, a step and a prediction were done."""
    from petals.accelerators.detect import detect

    device = detect("tpu")
    import numpy as np

    from petals.accelerators import compilation
    from petals.models.build import build
    from petals.training.optimization import compile_model, set_seed

    compilation.keep(folder)
    set_seed(0)
    with device.scope():
        classifier = build(backbone, SIZE, CLASSES, weights="none")
    model = classifier.model
    compile_model(model, np.full(10, 1e-3))
    images = np.random.default_rng(0).integers(0, 256, (BATCH, SIZE, SIZE, 3), np.uint8)
    labels = np.eye(CLASSES, dtype=np.float32)[np.arange(BATCH) % CLASSES]
    seconds = {"built": time.time() - begun}
    model.fit(images, labels, batch_size=BATCH, epochs=1, verbose=0)
    seconds["step"] = time.time() - begun
    model.predict(images, batch_size=BATCH, verbose=0)
    seconds["predict"] = time.time() - begun
    seconds["predict_cpu"] = time.process_time()
    return {what: round(value, 1) for what, value in seconds.items()}


if __name__ == "__main__":
    print(json.dumps(_worker(float(sys.argv[1]), *sys.argv[2:])))
