"""Serve a Kaggle for rehearsal on this machine; prints how to point the official client at it."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.commands.start.local import command as main

if __name__ == "__main__":
    main()
