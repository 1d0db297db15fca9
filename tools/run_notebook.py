"""Run a notebook with parameters into a run folder, and report on it."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.cli.run import run as main

if __name__ == "__main__":
    main()
