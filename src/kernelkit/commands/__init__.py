"""The commands of `kernelkit`, one a module, in four rooms; begin with `console`.

Each module holds a click command named `command`, which may be a tool of the repository as well.
It imports what it calls only when it is called, so that `--help` answers at once. A command may
import `options` and what it calls, but no other room of commands.
"""
