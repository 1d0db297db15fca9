"""What test_cluster.py runs as one host of several: trains, and says what came out.

    python hosts_program.py DATASET OUT PARTS [DYING]

One host alone takes the batches that PARTS hosts would take together. Host DYING kills itself
when the last epoch is scored. Leaves OUT-INDEX.json, and goes on from a checkpoint in OUT-run.
"""

import json
import os
import signal
import sys
from pathlib import Path

from petals.accelerators.detect import detect
from petals.errors import PetalsError

sys.path.append(str(Path(__file__).parents[2]))  # of tuning

BATCH, EPOCHS = 16, 2


def main(dataset, out, parts, dying=-1):
    device = detect()

    import numpy as np
    import tensorflow as tf
    from tuning import begin, fine_tune, train_head

    from petals.data.pipeline import Batches
    from petals.evaluation.prediction import predict
    from petals.models.build import set_trainable
    from petals.run_folder import RunFolder
    from petals.training.callbacks import Training
    from petals.training.checkpoints import Checkpoints

    splits, classifier = begin(dataset, device)
    model = classifier()

    def part(index, step):
        split = splits[0].part(index, parts)
        return Batches(split, BATCH // parts, 3, seed=3, deterministic=True).dataset(step)

    def batches(step):
        if device.hosts > 1:
            return part(device.host, step)
        both = tf.data.Dataset.zip(tuple(part(index, step) for index in range(parts)))
        return both.map(lambda *rows: tuple(tf.concat(part, 0) for part in zip(*rows)))  # noqa: B905

    set_trainable(model, "all", freeze_batch_norm=False)

    def record(rows):
        if device.host == dying and len(rows) == EPOCHS:
            os.kill(os.getpid(), signal.SIGKILL)

    run = RunFolder(f"{out}-run", writes=device.host == 0)
    kept = Checkpoints(run.path, {"parts": parts})
    tuned = Training(kept.newest.history, record, kept, deadline=1e12)
    fine_tune(model, splits, EPOCHS, tuned, batch_size=BATCH, batches=batches)
    predicted = predict(model.model, splits[1], BATCH, tta=2)
    features, head = train_head(model, splits, device, 2)
    run.write_history(tuned.history)
    result = {
        "device": device.as_dict(),
        "head": head,
        "tuned": tuned.history,
        "features": [float(np.abs(f.values).sum()) for f in features],
        "shapes": [list(f.values.shape) for f in features],
        "predicted": predicted.tolist(),
        "run": str(run.path),
        "resumed": kept.newest.resumed,
    }
    Path(f"{out}-{device.host}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    dataset, out, parts, *rest = sys.argv[1:]
    try:
        main(dataset, out, int(parts), *map(int, rest))
    except PetalsError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(error.exit_code)  # JAX would wait for the lost host
