"""What the test of compilations runs in a process of its own: two epochs with validation.

    python compiling_program.py DATASET OUT [TIMES]

Trains TIMES models one after the other, with `Epochs` and augmentation in the step, and writes the
programs that JAX compiled, by name, as JSON into OUT, and whether `fit` read the loss of a step,
for which it has to wait. The environment's KEEP names a folder for compiled programs, and
its HEAD is a number of epochs for which only the softmax head is trained, on the features of both
splits.
"""

import json
import logging
import os
import re
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning

COMPILING = re.compile(r"Compiling (?:jit\()?(\w+)\)? with global shapes")
HIT = re.compile(r"Persistent compilation cache hit for '(?:jit_)?(\w+)'")


class Listener(logging.Handler):
    """Counts what JAX says that it compiles, and what it finds compiled."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.compiled, self.found = Counter(), Counter()

    def emit(self, record):
        text = record.getMessage()
        for pattern, counter in ((COMPILING, self.compiled), (HIT, self.found)):
            if match := pattern.match(text):
                counter[match[1]] += 1


@contextmanager
def listening():
    """A `Listener` to JAX while the block runs."""
    listener = Listener()
    logger = logging.getLogger("jax")
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    yield listener
    logger.removeHandler(listener)


def main(dataset, out, times=1):
    device = detect()
    import jax
    from tuning import begin, fine_tune, train_head

    from petals.accelerators import compilation
    from petals.augment.augmentation import augmentation
    from petals.models.build import set_trainable
    from petals.training import callbacks, head

    if folder := os.environ.get("KEEP"):
        compilation.keep(folder)
    listener = Listener()
    logging.getLogger("jax").addHandler(listener)
    logging.getLogger("jax").setLevel(logging.DEBUG)
    read, told = set(), callbacks.Epochs.on_train_batch_end

    def tell(self, batch, logs=None):
        read.add(not isinstance(logs["loss"], jax.Array))  # Keras's own list makes a number of it
        told(self, batch, logs)

    callbacks.Epochs.on_train_batch_end = tell
    head.HEAD_BATCH = 16  # several steps an epoch, which are one program
    splits, classifier = begin(dataset, device)
    history = []
    for _ in range(int(times)):
        model = classifier()
        if epochs := int(os.environ.get("HEAD", 0)):
            _, history = train_head(model, splits, device, epochs)
            continue
        set_trainable(model, "all", freeze_batch_norm=False)
        options = {"batch_size": 16, "change": augmentation("flip"), "on_device": True}
        history = fine_tune(model, splits, 2, **options).training.history
    result = {
        "devices": len(jax.devices()),
        "compiled": listener.compiled,
        "found": listener.found,
        "history": history,
        "waits": sorted(read),
        "facts": compilation.facts(),
    }
    Path(out).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
