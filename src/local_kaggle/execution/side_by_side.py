"""Run a gateway and the notebook that it asks until the first of them ends.

This file runs alone, in the network that the two share, and builds walls around each.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.05
LAST_WORDS_SECONDS = 1.0  # in which a notebook's log gets the traceback that the gateway ended for
WHY = "the notebook ended before the gateway had its answers: in a rerun, serve() has to block"


def _attend(spec: Mapping[str, Any]) -> int:
    """Run both until the first of them ends; the exit code is the notebook's if that was it.

    On Kaggle the gateway would ask a notebook that has ended for another quarter of an hour.
    """
    with Path(spec["log"]).open("wb") as log:
        gateway = subprocess.Popen(
            **spec["gateway"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        notebook = subprocess.Popen(**spec["notebook"])
        while gateway.poll() is None and notebook.poll() is None:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            notebook.wait(LAST_WORDS_SECONDS)
        first, other = (notebook, gateway) if gateway.poll() is None else (gateway, notebook)
        other.kill()
        other.wait()
    result = Path(spec["result"])
    if first is notebook and not result.exists():
        written = {"Succeeded": False, "ErrorName": "SERVER_NEVER_STARTED", "ErrorDetails": WHY}
        result.write_text(json.dumps(written))
    return first.returncode if first is notebook else 0


if __name__ == "__main__":
    sys.exit(_attend(json.loads(sys.argv[1])))
