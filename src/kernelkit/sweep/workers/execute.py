"""One run in a separate process: `python -m kernelkit.sweep.workers.execute REQUEST.json`.

The request is {"notebook", "values", "folder", "report"}. The exit code says how it ended;
`error.txt` in the folder has the error.
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

ERROR, LOG, REQUEST = "error.txt", "log.txt", "request.json"  # in a run's folder


def execute(request: Mapping[str, Any]) -> int:
    """Run the notebook of the request; returns the exit code of `kernelkit.errors`."""
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
        message, code = str(error), error.exit_code
    except OSError as error:
        message, code = f"cannot write ({error.strerror}): {error.filename or folder}", 12
    except Exception:
        message, code = traceback.format_exc(limit=-3), 1
    else:
        return 0
    with contextlib.suppress(OSError):  # the disk may be full; the exit code remains
        files.write_text(folder / ERROR, message + "\n")
    return code


if __name__ == "__main__":
    processes.die_with(int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep ends this process, not Ctrl-C
    sys.exit(execute(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
