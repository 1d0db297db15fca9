#!/usr/bin/env python
"""Compile a run's programs for a TPU at the desk."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.cli.run import tpu as main

if __name__ == "__main__":
    main()
