"""What the test of several steps in one program runs: the same training in two ways, on JAX.

python together_program.py DATASET OUT
"""

import json
import math
import sys
import time
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning


class CutOff(BaseException):
    """As a kill would: no callback and no last words after it."""


def main(dataset, out):
    device = detect()
    import numpy as np
    from tuning import begin, fine_tune

    from petals.augment.augmentation import augmentation
    from petals.models.build import set_trainable
    from petals.training import callbacks
    from petals.training.callbacks import Training
    from petals.training.checkpoints import Checkpoints
    from petals.training.optimization import set_seed

    splits, classifier = begin(dataset, device)
    callbacks.SAVE_EVERY = 0.0

    def tune(steps, folder, cut=None, deadline=math.inf):
        set_seed(3)
        model = classifier(dropout=0.3)
        set_trainable(model, "all", freeze_batch_norm=False)
        kept = Checkpoints(folder, {"seed": 0})
        training = Training(kept.newest.history, checkpoints=kept, deadline=deadline)
        whole = callbacks.Epochs.on_train_batch_begin

        def begin_step(self, batch, logs=None):
            whole(self, batch, logs)
            if self._epoch == 1 and self._before + batch == cut:
                raise CutOff

        callbacks.Epochs.on_train_batch_begin = begin_step
        options = {"change": augmentation("light"), "on_device": True, "batch_size": 8}
        try:
            fine_tune(model, splits, 2, training, steps_per_execution=steps, **options)
        except CutOff:
            return None
        finally:
            callbacks.Epochs.on_train_batch_begin = whole
        total = sum(float(np.abs(weight).sum()) for weight in model.model.get_weights())
        return {"history": training.history, "weights": total}

    folder = Path(out).parent
    single, together = tune(1, folder / "single"), tune(3, folder / "together")
    assert tune(3, folder / "cut", cut=3) is None
    resumed = tune(3, folder / "cut")
    first = tune(1, folder / "late", deadline=time.monotonic())
    assert len(first["history"]) == 1
    (saved,) = Checkpoints(folder / "late", {"seed": 0}).folder.glob("*.npz")
    assert saved.stem == "1-000000001", saved  # the step that had begun, and no other
    late = tune(1, folder / "late")
    results = {"late": late, "single": single, "together": together, "resumed": resumed}
    Path(out).write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
