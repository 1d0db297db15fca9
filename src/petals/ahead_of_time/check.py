"""python -m petals.ahead_of_time.check: compile a run's programs for a TPU that is not there.

Reads one JSON object from standard input:

    {"parameters": {…}, "chips": {"topology", "bounds", "accelerator_type"}, "programs": [names],
     "kept": FOLDER}

and writes one JSON object per line: {"event": "compiling" | "program" | "error", …}. An empty
`programs` means all that the run has; what the compiler said of a program is kept in the folder.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from petals import storage
from petals.accelerators import keras_backend
from petals.ahead_of_time.compiler import Chips, Compiler, digest, figures, prepare_environment
from petals.errors import PetalsError, StorageError

Tell = Callable[..., None]
PACKAGES = ("jax", "libtpu", "keras")
VERSION = 2  # of the figures; raise it when they change


def run(request: dict[str, Any], tell: Tell) -> None:
    """Compile what the request asks for, and `tell(event, **facts)` what comes of it."""
    chips = Chips.read(request["chips"])
    prepare_environment(chips)
    compiler = Compiler(chips)
    keras_backend.choose(keras_backend.JAX)
    from petals.ahead_of_time import programs  # imports Keras

    settings = request["parameters"]
    device = programs.device_for(compiler.devices, compiler.name, settings)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    tell("environment", devices=compiler.devices, name=compiler.name, versions=versions)
    for program in programs.of_run(settings, device, tuple(request.get("programs", ()))):
        tell("compiling", program=program.name)
        lowered = compiler.lower(program)
        environment = [VERSION, chips.topology, versions]
        key = digest(lowered, json.dumps(environment))
        path = Path(request["kept"]) / f"{key}.json" if request.get("kept") else None
        facts = _read(path)
        if facts is None:
            facts = figures(program, lowered) | {"versions": versions}
            if facts["fits"] or facts["reason"] == "memory":
                _keep(path, facts)
        tell("program", **facts)


def _read(path: Path | None) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path else None
    except (OSError, ValueError):
        return None


def _keep(path: Path | None, facts: dict[str, Any]) -> None:
    if path is None:
        return
    try:
        storage.write_json(path, facts)
    except StorageError as error:  # the answer is no worse for it
        print(f"not kept: {error}", file=sys.stderr)


def main() -> int:
    """Answer the request on standard input; returns the exit code."""
    request = json.loads(sys.stdin.read())
    # Libraries print as they like: what they write to standard output goes to standard error.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}) + "\n")
        events.flush()

    try:
        run(request, tell)
    except PetalsError as error:
        tell("error", kind=type(error).__name__, text=str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
