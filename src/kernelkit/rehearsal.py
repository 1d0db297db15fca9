"""Where a push goes: Kaggle, or a local Kaggle that lives as long as the command."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from kernelkit.client import Kaggle
from kernelkit.connection import connect
from kernelkit.errors import KernelkitError
from kernelkit.pace import Pace


@contextlib.contextmanager
def venue(local: Path | None, pace: Pace, catalogue: str = "") -> Iterator[Kaggle]:
    """A connected `Kaggle`: the real one, or for `local` one that keeps all it has there.

    `catalogue` is a command that fills the rehearsal's inputs, run once. Raises
    `CredentialsError` or `NetworkError` when Kaggle cannot be reached, and `KernelkitError`
    rather than let a rehearsal leave this machine.
    """
    if local is None:
        yield Kaggle(connect(pace.timeouts, pace.retries), pace.retries)
        return
    from kernelkit.local_kaggle import LocalKaggle
    from kernelkit.local_kaggle.catalogue import fill_catalogue

    with LocalKaggle(local) as server, server.attach():
        if catalogue and not any(server.catalogue.glob("*/*")):
            python = shlex.quote(sys.executable)
            fill_catalogue(server.catalogue, re.sub(r"\Apython3?\b", lambda _: python, catalogue))
        connection = connect(pace.timeouts, pace.retries)
        if not connection.base_url.startswith(server.url + "/"):
            raise KernelkitError(
                f"the rehearsal would have talked to {connection.base_url}: nothing was sent"
            )
        yield Kaggle(connection, pace.retries)
