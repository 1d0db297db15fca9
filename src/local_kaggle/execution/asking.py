"""Run a competition's gateway, as the host wrote it; a program inside the gateway's own walls.

`python asking.py MODULE` runs the module as Kaggle does. Some gateways begin by themselves, others
only define a class: of those this program makes one and calls its `run`. It also notes what Kaggle
tells nobody: which call was the last, and how long its answer took. It stands alone, and imports
the standard library and the host's package.
"""

import contextlib
import importlib
import inspect
import itertools
import json
import runpy
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULT, CALL = "result.json", "call.json"
BASE = "Gateway"  # the end of the names of a host's base classes
LIMITS = ("endpoint_deadline_seconds", "answer_seconds")  # of a client, for an answer
SERVER = "inference_server"  # the name at which a gateway looks for the notebook
SERVERS = f"{SERVER}_"  # and, where it asks several, the beginning of their names


def ask(module: str) -> None:
    """Run the gateway `module` until it has its answers, or has written why it has none."""
    _watch_calls()
    sys.argv = [module]
    names = runpy.run_module(module, run_name="__main__", alter_sys=True)
    if Path(RESULT).exists():
        return
    gateways = [value for value in names.values() if _is_gateway(value)]
    if not gateways:
        sys.exit(f"{module} did nothing, and has no gateway's class of its own to run")
    gateways[-1]().run()


def _is_gateway(value: Any) -> bool:
    return (
        inspect.isclass(value)
        and value.__module__ == "__main__"
        and not inspect.isabstract(value)
        and any(base.__name__.endswith(BASE) for base in value.__mro__[1:])
    )


def _watch_calls() -> None:
    """Note the last call, and lead all of a gateway's servers to the one notebook."""
    try:
        relay = importlib.import_module("kaggle_evaluation.core.relay")
        client = relay.Client
        plain_init, plain_send = client.__init__, client.send
    except (ImportError, AttributeError):  # a host's package of another kind
        return

    def init(self: Any, channel_address: str = "localhost", *args: Any, **options: Any) -> None:
        if channel_address.startswith(SERVERS):
            print(f"rehearsal: {channel_address} is the one notebook here", flush=True)
            channel_address = SERVER
            args = ()
            options = {}
            if hasattr(relay, "GRPC_PORTS"):
                options["port"] = relay.GRPC_PORTS[0]
        plain_init(self, channel_address, *args, **options)

    numbers = itertools.count(1)
    file = Path(CALL).absolute()  # the host's own code may go to another folder

    def send(self: Any, name: str, *args: Any, **options: Any) -> Any:
        limits = [getattr(self, limit, None) for limit in LIMITS]
        call = {
            "name": name,
            "number": next(numbers),
            "began": time.time(),
            "limit": next(filter(None, limits), None),
        }
        _note(file, call)
        began = time.monotonic()
        try:
            answer = plain_send(self, name, *args, **options)
        except Exception:
            _note(file, call | {"seconds": time.monotonic() - began})
            raise
        _note(file, call | {"seconds": time.monotonic() - began, "answered": True})
        return answer

    client.__init__ = init
    client.send = send


def _note(file: Path, call: Mapping[str, Any]) -> None:
    """Write what is known of a call; where that fails, the gateway goes on without."""
    part = file.with_suffix(".part")
    with contextlib.suppress(OSError):
        part.write_text(json.dumps(call, default=str))
        part.replace(file)


if __name__ == "__main__":
    ask(sys.argv[1])
