"""The process of a run, and the fork server, which forks such processes.

    python -m kernelkit.sweep.workers.run_process once PARENT    makes one run
    python -m kernelkit.sweep.workers.run_process fork PARENT FOLDER MODULE…
                                                                 forks one for each request

FOLDER is the notebook's: the modules may be there, too.

A request is a line of standard input: {"notebook": …, "values": …, "folder": …, "report": true,
"in_folder": false}, where the values are the source of a cell, and `in_folder` says whether the
folder is also the working directory of the notebook. The fork server first writes what hinders its
imports, a JSON list of texts, and then answers each request with the number of the process. It
imports the modules that runs need, but calls nothing in them, because modules survive a fork, while
threads and devices do not. If a MODULE starts threads, the server begins again without any
(`fork-again`). Forked runs start in a tenth of a second instead of several seconds.

`error.txt` in a run's folder, which the engine writes before the process starts, goes when the run
succeeds, or else says why it failed.
"""

# Why not multiprocessing's forkserver with a preload: a Dask worker is a daemonic process, and
# `Process.start()` refuses to work there; `start()` waits forever if a preload hangs; its runs
# continue when the sweep is killed; it forks even if a preload started threads; and a process has
# only one fork server, which cannot be closed or given other modules for the next sweep.

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import files, processes
from kernelkit.errors import KernelkitError

ERROR, LOG = "error.txt", "log.txt"  # in a run's folder
POLL_SECONDS = 0.05
FORK, FORK_AGAIN, ONCE = "fork", "fork-again", "once"  # what a process is started for
OWN = (
    "kernelkit.running.run_notebook",
    "papermill",
    "nbconvert",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "kernelkit.sweep.workers.forked_kernel",
)


def execute(request: Mapping[str, Any]) -> None:
    """Run the notebook of the request."""
    from kernelkit.notebook.interface.values import values_in
    from kernelkit.pages.one_run.report_page import report_run
    from kernelkit.running.run_notebook import run_notebook

    folder = Path(request["folder"])
    try:
        run_notebook(
            Path(request["notebook"]),
            values_in(request["values"]),
            output=folder,
            report=report_run if request["report"] else None,
            quiet=True,
            in_folder=request["in_folder"],
        )
    except KernelkitError as error:
        message = str(error)
    except OSError as error:
        place = error.filename or folder
        message = f"cannot write ({error.strerror}): {place}"
    except Exception:
        message = traceback.format_exc(limit=-3)
    else:
        (folder / ERROR).unlink()
        return
    with contextlib.suppress(OSError):  # the disk may be full; the engine's message remains
        files.write_text(folder / ERROR, message + "\n")


def _imported(beside: str, warm: Sequence[str]) -> list[str]:
    """Import these modules, also from a folder; returns why some of them cannot be imported."""
    problems = []
    sys.path.insert(0, beside)
    for name in warm:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # a module may be a program that ends
            why = " ".join(f"{type(error).__name__}: {error}".split())
            problems.append(f"{name} cannot be imported ({why}): each run imports it itself")
    sys.path.remove(beside)
    return problems


def serve(parent: int, beside: str, warm: Sequence[str], *, announced: bool = True) -> None:
    """Fork a run for every line, until the pipe closes or the parent is gone.

    beside     the notebook's folder
    announced  whether to write first what hinders the imports
    """
    # Keep figures inline, although matplotlib is imported before its kernel.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    answers = os.dup(1)
    os.dup2(2, 1)  # the modules may print
    for name in OWN:
        # If a module cannot be imported here, the run fails on it too, and reports it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    problems = _imported(beside, warm)
    sys.stdout.flush()
    os.dup2(answers, 1)
    os.close(answers)
    threads = bool(warm) and threading.active_count() > 1
    if threads:
        problems.append("a module starts threads: nothing is imported beforehand")
    if announced:
        print(json.dumps(problems), flush=True)
    if threads:
        # A fork copies only one thread; locks of other threads stay locked in the copy.
        again = [*sys.orig_argv[:4], FORK_AGAIN, str(parent), beside]
        os.execv(sys.executable, again)  # noqa: S606
    gc.collect()
    gc.freeze()  # memory that the collector does not touch stays shared between forks
    while os.getppid() == parent:
        if select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            # The next request comes after this answer, so that no buffer holds a second line.
            line = sys.stdin.readline()
            if not line:
                break
            print(_fork(json.loads(line)), flush=True)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    processes.kill_family(os.getpid())


def _fork(request: Mapping[str, Any]) -> int:
    fork_server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        log_file = Path(request["folder"]) / LOG
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with log_file.open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        from kernelkit.sweep.workers import forked_kernel

        forked_kernel.fork_kernel()
        processes.die_with(fork_server)  # it starts a thread, so after the fork
        execute(request)
    finally:
        os._exit(0)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep ends this process, not Ctrl-C
    _, task, ended_with, *modules = sys.argv
    if task in (FORK, FORK_AGAIN):
        serve(int(ended_with), modules[0], modules[1:], announced=task == FORK)
    else:
        processes.die_with(int(ended_with))
        execute(json.load(sys.stdin))
