"""Import TensorFlow without the notes that it writes about itself.

Its C++ code writes them past Python, some of them at every logging level. Jupyter shows them in a
red box, as if something had failed.
"""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2  # the file descriptor that C++ code writes to
LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # of what TensorFlow writes after its import
KAGGLES = "2"  # level of Kaggle's images, at which a machine without a GPU counts as an error
_NOTE = re.compile(
    r"[IWE]\d{4} \S+ +\d+ \S+:\d+\]|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] "
    r"|WARNING: All log messages before absl::|To enable the following instructions: "
)


@contextmanager
def without_notes() -> Iterator[None]:
    """Leave out the notes of C++ libraries that the block imports.

    Anything else that the process writes to its standard error in the meantime appears after the
    block; if the block raises, the notes do too. From then on, TensorFlow leaves out what Kaggle's
    images let it write, and Matplotlib does not say that it lists the fonts, as it does when it is
    imported for the first time on a machine.
    """
    if os.environ.get(LEVEL, KAGGLES) == KAGGLES:  # a user's own level stays
        os.environ[LEVEL] = "3"
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    sys.stderr.flush()
    kept = os.dup(STDERR)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as written:
        os.dup2(written.fileno(), STDERR)
        failed = True
        try:
            yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(kept, STDERR)
            os.close(kept)
            written.seek(0)
            for line in written:
                if failed or not _NOTE.match(line):
                    sys.stderr.write(line)
