"""One run in a separate process: `python -m kernelkit.sweep.workers.execute PARENT < REQUEST`.

The request is {"notebook", "values", "folder", "report"} as JSON. `error.txt` in the folder, which
the engine writes before the process starts, goes when the run succeeds, or else says why it failed.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, processes
from kernelkit.errors import KernelkitError

ERROR, LOG = "error.txt", "log.txt"  # in a run's folder


def execute(request: Mapping[str, Any]) -> None:
    """Run the notebook of the request."""
    from kernelkit.running.run_notebook import run_notebook

    folder = Path(request["folder"])
    try:
        run_notebook(
            Path(request["notebook"]),
            request["values"],
            output=folder,
            report=request["report"],
            quiet=True,
        )
    except KernelkitError as error:
        message = str(error)
    except OSError as error:
        message = f"cannot write ({error.strerror}): {error.filename or folder}"
    except Exception:
        message = traceback.format_exc(limit=-3)
    else:
        (folder / ERROR).unlink()
        return
    with contextlib.suppress(OSError):  # the disk may be full; the engine's message remains
        files.write_text(folder / ERROR, message + "\n")


if __name__ == "__main__":
    processes.die_with(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep ends this process, not Ctrl-C
    execute(json.load(sys.stdin))
