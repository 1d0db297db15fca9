#!/usr/bin/env python
"""Push a notebook to Kaggle, wait for its run and bring the results home."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.commands.kaggle.push import command as main

if __name__ == "__main__":
    main()
