"""How long 200 output files take to come home: the kit's fetch and the client's own."""

import contextlib
import io
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.timing import REHEARSAL
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.outputs.fetch import fetch
from kernelkit.push.push_kernel import push_kernel
from kernelkit.terminal.events import Events
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

FILES = 200
LATENCY = 0.1  # seconds before each file's first byte, as from a desk far from the storage
KERNEL = Kernel("tester", "two-hundred-files")
SOURCE = f"for n in range({FILES}): open(f'{{n:03d}}.bin', 'wb').write(bytes(2000))"


def run() -> dict[str, Any]:
    """Seconds for both, and their ratio; from a local Kaggle that answers `LATENCY` late."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        _make_kernel(root)
        quiet = io.StringIO()
        with LocalKaggle(root / "kaggle") as server, server.attach():
            push_kernel(metadata=root, timing=REHEARSAL, stream=quiet, runs=root / "runs")
        limits = ServerLimits(latency_seconds=LATENCY)
        with LocalKaggle(root / "kaggle", limits=limits) as server, server.attach():
            theirs = _client(root / "theirs")
            ours = _kit(root / "ours")
        _same(root / "ours", root / "theirs")
    return {
        "files": FILES,
        "latency": LATENCY,
        "client_seconds": theirs,
        "kit_seconds": ours,
        "times_faster": theirs / ours,
    }


def _kit(folder: Path) -> float:
    began = time.perf_counter()
    push = Push(str(KERNEL), "", "", "cpu", version=1)
    context = PushContext(folder, Events(io.StringIO()), REHEARSAL)
    context.kaggle = Kaggle(open_connection(), REHEARSAL.retries)
    fetch(context, push, folder, context.kaggle.outputs(KERNEL, 1))
    return time.perf_counter() - began


def _client(folder: Path) -> float:
    from kaggle.api.kaggle_api_extended import KaggleApi

    began = time.perf_counter()
    api = KaggleApi()
    api.authenticate()
    with contextlib.redirect_stdout(io.StringIO()):
        api.kernels_output(str(KERNEL), str(folder))
    return time.perf_counter() - began


def _same(ours: Path, theirs: Path) -> None:
    """Both brought the same files home, or the times mean nothing."""
    for number in range(FILES):
        name = f"{number:03d}.bin"
        if (ours / name).read_bytes() != (theirs / name).read_bytes():
            raise RuntimeError(f"{name} differs")


def _make_kernel(folder: Path) -> None:
    (folder / "files.py").write_text(SOURCE)
    values = {
        "id": "INSERT_USERNAME/two-hundred-files",
        "title": "Two hundred files",
        "code_file": "files.py",
        "language": "python",
        "kernel_type": "script",
        "enable_internet": False,
    }
    (folder / "kernel-metadata.json").write_text(json.dumps(values))
