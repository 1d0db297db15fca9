#!/usr/bin/env python
"""Run a sweep: many runs of one notebook, compared in one table."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.cli.compare import sweep as main

if __name__ == "__main__":
    main()
