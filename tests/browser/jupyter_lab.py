"""A JupyterLab that `make lab` starts in a scratch copy of the repository, and its page."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

START_SECONDS = 180


def give(folder, name, parameters):
    """Other values in the parameters cell of a notebook and of the .py that it is paired with."""
    notebook, script = (folder / f"notebooks/{name}{suffix}" for suffix in (".ipynb", ".py"))
    content = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [c for c in content["cells"] if "parameters" in c["metadata"].get("tags", ())]
    source = old = "".join(cells[0]["source"])
    for key, value in parameters.items():
        source, found = re.subn(
            rf"^{key} = (?:\".*?\"|\S+)", f"{key} = {value!r}".replace("'", '"'), source, flags=re.M
        )
        assert found == 1, key
    cells[0]["source"] = source.splitlines(keepends=True)
    text = json.dumps(content, indent=1, ensure_ascii=False)
    notebook.write_text(text + "\n", encoding="utf-8")
    paired = script.read_text(encoding="utf-8")
    assert paired.count(old) == 1
    script.write_text(paired.replace(old, source), encoding="utf-8")  # last: the newer one counts


class JupyterLab:
    """The server that `make lab` starts; `address` opens its page."""

    def __init__(self, folder, home):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        token = secrets.token_hex(16)
        self.server, self.token = f"http://127.0.0.1:{port}", token
        arguments = (
            f"--no-browser --allow-root --ip=127.0.0.1 --port={port} "
            f"--IdentityProvider.token={token}"
        )
        environment = {**os.environ, "HOME": str(home), "MAKEFLAGS": ""}
        self.log = (home / "lab.log").open("w")
        self.process = subprocess.Popen(
            ["make", "-o", ".venv/installed", "lab", f"ARGS={arguments}"],
            cwd=folder,
            env=environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._wait(lambda: self._answer("status"))

    def address(self, name):
        # Without what was open before.
        return f"{self.server}/lab/tree/{name}?reset&token={self.token}"

    def wait_for_kernel(self, name):
        """Wait until the notebook's kernel is idle: before that, Run All asks which one to take."""

        def ready():
            kernels = [one["kernel"] for one in self._answer("sessions") if one["name"] == name]
            return any(k["execution_state"] == "idle" and k["connections"] for k in kernels)

        self._wait(ready)

    def _answer(self, path):
        address = f"{self.server}/api/{path}?token={self.token}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)

    def _wait(self, ready):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(OSError):
                if ready():
                    return
            time.sleep(0.5)
        self.close()
        raise AssertionError(Path(self.log.name).read_text())

    def close(self):
        """End the server, and the kernels with it."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self.log.close()
