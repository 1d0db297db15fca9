"""`python -m kernelkit`: the same as the command `kernelkit`."""

from kernelkit.cli.console import main

if __name__ == "__main__":
    main()
