"""`python -m kernelkit`: the same as the command `kernelkit`."""

from kernelkit.commands.console import main

if __name__ == "__main__":
    main()
