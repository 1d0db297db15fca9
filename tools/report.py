"""Turn executed notebooks and run folders into HTML; with --index, a page over all runs."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from kernelkit.cli.compare import report as main

if __name__ == "__main__":
    main()
