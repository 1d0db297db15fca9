"""A competition's gateway and the notebook that it asks, until the first of them ends.

This file is a program that stands alone, started in the closed network that the two share; each is
behind walls of its own. Whatever they leave lies where they can write, so this program, which is
outside of their walls, writes its own verdict where they cannot.
"""

import contextlib
import json
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Spec = Mapping[str, Any]
"""What `gateway` and `notebook` are started with, and the paths of a `log` and a `verdict`."""

POLL_SECONDS = 0.05
LAST_WORDS_SECONDS = 1.0  # in which a notebook's log gets the traceback that the gateway ended for
ENDED = "the notebook ended before the gateway had its answers: in a rerun, serve() has to block"


def attend(spec: Spec) -> int:
    """Run both until the first of them ends; the exit code is the notebook's if that was it.

    On Kaggle the gateway would ask a notebook that has ended for another quarter of an hour.
    """
    runpy.run_path(str(Path(__file__).with_name("entering.py")))["raise_loopback"]()
    with Path(spec["log"]).open("wb") as log:
        gateway = subprocess.Popen(
            **spec["gateway"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        notebook = subprocess.Popen(**spec["notebook"])
        while gateway.poll() is None and notebook.poll() is None:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            notebook.wait(LAST_WORDS_SECONDS)
        is_answered = gateway.poll() is not None
        for process in (gateway, notebook):
            process.kill()
            process.wait()
    Path(spec["log"]).chmod(0o600)  # the gateway had it open, and may have changed its mode
    if is_answered:
        return 0
    verdict = {"Succeeded": False, "ErrorName": "SERVER_NEVER_STARTED", "ErrorDetails": ENDED}
    Path(spec["verdict"]).write_text(json.dumps(verdict))
    return notebook.returncode


if __name__ == "__main__":
    sys.exit(attend(json.loads(Path(sys.argv[1]).read_text())))
