"""Run one notebook as several hosts on this machine, as a stand-in for separate machines.

On separate machines, or in a TPU slice, start `kernelkit run` on each, with the standard
variables set: JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID, or TF_CONFIG.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kernelkit import files, processes
from kernelkit.errors import ParameterError, of_exit_code
from kernelkit.run_folders import run_folder
from kernelkit.running.chosen_folder import HOST_FOLDER, chosen_folder
from kernelkit.running.run_notebook import ExecutedRun, check, run_notebook
from kernelkit.terminal.cli import exits_with_code

LOG = "log.txt"
POLL_SECONDS = 0.2


def run_on_hosts(
    count: int,
    notebook: Path,
    overrides: Mapping[str, Any] | Iterable[str] = (),
    *,
    name: str = "",
    output: Path | None = None,
    fresh: bool = False,
    **options: bool,
) -> ExecutedRun:
    """`run_notebook` as `count` hosts connected over loopback; returns host 0's run.

    `options`: `report` and `quiet`, as for `run_notebook`. Host 0's output is shown; the output of
    the others is in `host-N/log.txt` of the run's folder. When a host fails, ends the others and
    raises what `run_notebook` raises.
    """
    if count < 2:
        raise ParameterError(f"--hosts {count}: give two or more, or leave it out to run on one")
    if any(os.environ.get(variable) for variable in ("JAX_NUM_PROCESSES", "TF_CONFIG")):
        raise ParameterError(
            "--hosts starts all hosts on this machine, but the environment says that this is "
            "already one of several: leave out --hosts, or unset JAX_NUM_PROCESSES and TF_CONFIG"
        )
    checked = check(notebook, overrides)
    with chosen_folder(notebook, checked.values, name=name, output=output, fresh=fresh) as folder:
        request = {"notebook": str(notebook), "overrides": checked.overrides, "output": str(folder)}
        files.make_folder(folder)
        begun = time.monotonic()
        command = [sys.executable, "-m", __name__, json.dumps(request | options)]
        _start(count, command, folder)
        return ExecutedRun(folder, time.monotonic() - begun, run_folder.metrics(folder) or {})


def _start(count: int, command: Sequence[str], folder: Path) -> None:
    with ExitStack() as stack:
        hosts = []
        for index, environment in enumerate(_environments(count)):
            log = None
            if index:
                path = files.make_folder(folder / HOST_FOLDER.format(index)) / LOG
                log = stack.enter_context(path.open("wb"))
            errors = subprocess.STDOUT if log else None
            host = subprocess.Popen(command, env=environment, stdout=log, stderr=errors)
            stack.callback(processes.end, host)
            hosts.append(host)
        _watch(hosts, folder)


def _environments(count: int) -> list[dict[str, str]]:
    with ExitStack() as stack:  # free ports: all stay bound until each is chosen
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    own = []
    for index in range(count):
        if importlib.util.find_spec("jax") is not None:
            variables = {"JAX_COORDINATOR_ADDRESS": addresses[0], "JAX_NUM_PROCESSES": str(count)}
            own.append(variables | {"JAX_PROCESS_ID": str(index)})
        else:
            task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            own.append({"TF_CONFIG": json.dumps(task)})
    return [{**os.environ, **variables} for variables in own]


def _watch(hosts: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Return once all hosts are done; raise the error of the first that fails."""
    while None in (codes := [host.poll() for host in hosts]) and not any(codes):
        time.sleep(POLL_SECONDS)
    for index, code in enumerate(codes):
        if code:
            log = f"; its output is in {folder / HOST_FOLDER.format(index) / LOG}" if index else ""
            raise of_exit_code(code)(
                f"host {index} ended with exit code {code}, so the others were ended{log}. The "
                "same command continues from the last checkpoint"
            )


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    request["output"] = Path(request["output"])
    exits_with_code(run_notebook)(**request)
