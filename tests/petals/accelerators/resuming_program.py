"""What the test of resumed runs starts: the same training whole, and cut off in mid-epoch.

    python resuming_program.py DATASET CHECKPOINTS OUT

Trains three epochs, then again until a step within the second one, where the process would be
killed, and once more from the checkpoint. Writes as JSON into OUT what JAX compiled in each of the
three, both histories, and the largest difference of the weights.
"""

import json
import sys
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning
EPOCHS, BATCH = 3, 16


class KilledError(Exception):
    """In place of a signal."""


def main(dataset, folder, out):
    device = detect()
    import jax
    import numpy as np
    from compiling_program import listening
    from tuning import begin, fine_tune

    from petals.augment.augmentation import augmentation
    from petals.models.build import set_trainable
    from petals.training import callbacks
    from petals.training.checkpoints import Checkpoints
    from petals.training.optimization import set_seed

    splits, classifier = begin(dataset, device)
    steps = splits[0].count // BATCH

    def train(training=None):
        """The trained model, its history, and the programs that were compiled."""
        set_seed(1)
        model = classifier()
        set_trainable(model, "all", freeze_batch_norm=False)
        options = {"batch_size": BATCH, "change": augmentation("flip"), "on_device": True}
        with listening() as listener:
            try:
                watch = fine_tune(model, splits, EPOCHS, training, **options)
            except KilledError:
                return None, [], listener.compiled
        return model, watch.training.history, listener.compiled

    own_begin = callbacks.Epochs.on_train_batch_begin

    def killed(self, batch, logs=None):
        own_begin(self, batch, logs)
        if self._epoch == 1 and batch == steps - 1:
            raise KilledError

    whole, history, compiled = train()
    callbacks.SAVE_EVERY = 0.0  # seconds: before each step
    callbacks.Epochs.on_train_batch_begin = killed
    _, _, compiled_before = train(callbacks.Training(checkpoints=Checkpoints(folder, {})))
    callbacks.Epochs.on_train_batch_begin = own_begin
    kept = Checkpoints(folder, {})
    training = callbacks.Training(list(kept.newest.history), checkpoints=kept)
    resumed, resumed_history, compiled_after = train(training)
    pairs = zip(whole.model.get_weights(), resumed.model.get_weights(), strict=True)
    result = {
        "devices": len(jax.devices()),
        "begins": kept.newest.step,
        "steps": steps,
        "compiled": [compiled, compiled_before, compiled_after],
        "histories": [history, resumed_history],
        "difference": max(float(np.abs(a - b).max(initial=0)) for a, b in pairs),
    }
    Path(out).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
