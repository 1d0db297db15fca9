"""Run one notebook as several hosts on this machine, as a stand-in for separate machines.

On separate machines, or in a TPU slice, start `kernelkit run` on each, with JAX's variables set:
JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernelkit import files, processes
from kernelkit.errors import ParameterError, of_exit_code
from kernelkit.notebook import parameters
from kernelkit.pages.report_page import report_run
from kernelkit.runs import run_folder
from kernelkit.runs.chosen_folder import HOST_FOLDER, chosen_folder
from kernelkit.runs.run_notebook import ExecutedRun, check, run_in
from kernelkit.terminal.exits import exits_with_code

LOG = "log.txt"
POLL_SECONDS = 0.2


def run_on_hosts(
    count: int,
    notebook: Path,
    overrides: parameters.Overrides = (),
    *,
    name: str = "",
    output: Path | None = None,
    fresh: bool = False,
    **options: bool,
) -> ExecutedRun:
    """`run_notebook` as `count` hosts connected over loopback; returns host 0's run.

    `options`: `quiet`, as for `run_notebook`, and whether to write a `report`. Host 0's output is
    shown; the output of the others is in `host-N/log.txt` of the run's folder. When a host fails,
    ends the others and raises what `run_notebook` raises. Raises `ParameterError` for fewer than
    two hosts, and on a machine that is already one of several.
    """
    if count < 2:
        raise ParameterError(f"--hosts {count}: give two or more, or leave it out to run on one")
    if os.environ.get("JAX_NUM_PROCESSES"):
        raise ParameterError(
            "--hosts starts all hosts on this machine, but the environment says that this is "
            "already one of several: leave out --hosts, or unset JAX_NUM_PROCESSES"
        )
    checked = check(notebook, overrides)
    with chosen_folder(notebook, checked.values, name=name, output=output, fresh=fresh) as folder:
        overrides = parameters.assignments(checked.overrides)
        request = {"notebook": str(notebook), "overrides": overrides, "folder": str(folder)}
        begun = time.monotonic()
        command = [sys.executable, "-m", __name__, json.dumps(request | options)]
        _start(count, command, folder)
        return ExecutedRun(folder, time.monotonic() - begun, run_folder.metrics(folder) or {})


def _start(count: int, command: Sequence[str], folder: Path) -> None:
    """Start the hosts and wait until all are done; raises the error of the first that fails."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shared = {"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": str(count)}
    hosts: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        for index in range(count):
            environment = {**os.environ, **shared, "JAX_PROCESS_ID": str(index)}
            log = None
            if index:
                path = files.make_folder(folder / HOST_FOLDER.format(index)) / LOG
                log = stack.enter_context(path.open("wb"))
            errors = subprocess.STDOUT if log else None
            hosts.append(subprocess.Popen(command, env=environment, stdout=log, stderr=errors))
            stack.callback(processes.end, hosts[-1])
        while True:
            codes = [host.poll() for host in hosts]
            if None not in codes or any(codes):
                break
            time.sleep(POLL_SECONDS)
    for index, code in enumerate(codes):
        if code:
            stopped = f"host {index} ended with exit code {code}, so the others were stopped"
            if index:
                log_file = folder / HOST_FOLDER.format(index) / LOG
                stopped += f"; its output is in {log_file}"
            raise of_exit_code(code)(
                f"{stopped}. The same command continues from the last checkpoint"
            )


def _run_host(
    notebook: str, overrides: str, folder: str, *, report: bool = True, quiet: bool = False
) -> None:
    write = report_run if report else None
    run_in(Path(folder), check(Path(notebook), overrides), report=write, quiet=quiet)


if __name__ == "__main__":
    exits_with_code(_run_host)(**json.loads(sys.argv[1]))
