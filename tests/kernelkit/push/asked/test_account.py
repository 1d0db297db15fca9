"""What Kaggle and the ledger say of a kernel's versions."""

import io

from kernelkit.kaggle.context.timing import Timing
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.asked.account import saved_elsewhere
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.terminal.events import Events


def test_a_version_after_the_last_push_that_was_not_pulled_was_saved_elsewhere(tmp_path):
    context = PushContext(tmp_path, Events(io.StringIO()), Timing())
    kernel = Kernel("me", "train")
    assert saved_elsewhere(context, context.ledger.of(), 4) == 0  # nothing was pushed from here
    for version in (1, 3):
        push = Push(str(kernel), content="c", git="abc", accelerator="tpu")
        context.ledger.update(context.ledger.begin(push), version=version)
    assert [saved_elsewhere(context, context.ledger.of(), version) for version in (2, 3, 4)] == [
        0,
        0,
        4,
    ]
    context.copies(kernel, 4).mkdir(parents=True)
    assert saved_elsewhere(context, context.ledger.of(), 4) == 0
