"""A Jupyter kernel that is forked instead of started, so that its imports are already done.

The fork happens while the parent has a single thread and no sockets. The child waits for the
command that would have started a kernel, and becomes that kernel.
"""

import contextlib
import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

NAME = "kernelkit-forked"
LAUNCHER = "ipykernel_launcher"

_waiting: list[tuple[int, int]] = []  # (process id, pipe to it) of children that wait


def fork_kernel() -> None:
    """Fork the process that becomes the next kernel of this process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reading)
        _waiting.append((pid, writing))
        point = importlib.metadata.EntryPoint(NAME, f"{__name__}:Forked", "")
        factory = KernelProvisionerFactory.instance()
        factory.provisioners[NAME] = point
        factory.default_provisioner_name = NAME
        return
    os.close(writing)
    code = 1
    try:
        with os.fdopen(reading, encoding="utf-8") as pipe:
            line = pipe.readline()
        if line:
            _become(json.loads(line))
        code = 0
    finally:
        os._exit(code)


def _become(request: dict[str, Any]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    # Python read the variable before the request arrived.
    paths = request["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in paths if path and path not in sys.path]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=request["arguments"])


class Process(psutil.Process):  # type: ignore[misc]
    """A forked child with the part of `subprocess.Popen`'s interface that a provisioner needs."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with contextlib.suppress(psutil.TimeoutExpired):
            return int(self.wait(0) or 0)
        return None

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is gone."""
        with contextlib.suppress(psutil.NoSuchProcess):
            super().send_signal(number)


class Forked(LocalProvisioner):
    """Launches a kernel from the waiting child, or as usual when there is none."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Send the waiting child its kernel's command; returns the connection's details."""
        if not _waiting or LAUNCHER not in cmd:
            return await super().launch_kernel(cmd, **kwargs)
        pid, pipe = _waiting.pop()
        request = {
            "arguments": cmd[cmd.index(LAUNCHER) + 1 :],
            "env": {**kwargs.get("env", os.environ), "JPY_PARENT_PID": str(os.getpid())},
            "cwd": str(kwargs.get("cwd") or Path.cwd()),
        }
        with os.fdopen(pipe, "w", encoding="utf-8") as writer:
            writer.write(json.dumps(request) + "\n")
        self.process = Process(pid)
        self.pid = pid
        self.pgid = None
        return self.connection_info
