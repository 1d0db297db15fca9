"""Imported first by every tool: goes on with the Python that the kit is installed for."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"

if not (find_spec("kernelkit") and find_spec("click")):
    if PYTHON.exists() and Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])  # noqa: S606 - the same command, no shell
    print(
        f"error: the kit is not installed for {sys.executable}: run `make run` first",
        file=sys.stderr,
    )
    sys.exit(2)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow's notes, of no use to a user
