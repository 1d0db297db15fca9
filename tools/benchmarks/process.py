"""Measurements in processes of their own: a runtime is chosen once, before Keras is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kernelkit.errors import KernelkitError

TIMEOUT = 900  # seconds; an idle machine takes a tenth of it


def measure(module: str, environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    """What `python -m benchmarks.<module>` prints as JSON in its last line.

    It gets the present time and these arguments. `environment` is added to this process's,
    from which what chooses a device or a backend is taken out.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS_", "XLA_", "JAX_"))}
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", str(time.time()), *arguments],
            env={**kept, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise KernelkitError(
            f"benchmarks.{module} {' '.join(arguments)} took over {TIMEOUT} s: is the machine busy?"
        ) from None
    if done.returncode:
        raise KernelkitError(f"benchmarks.{module} {' '.join(arguments)} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def jax_devices(count: int) -> dict[str, str]:
    """The environment of JAX on so many CPU devices, as a rehearsed TPU session has it."""
    return {
        "KAGGLE_REHEARSAL": "tpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
        "JAX_PLATFORMS": "cpu",
    }
