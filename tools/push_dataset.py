#!/usr/bin/env python
"""Make or update a private Kaggle dataset from a folder."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.cli.upload import dataset as main

if __name__ == "__main__":
    main()
