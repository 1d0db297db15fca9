"""The commands of `kernelkit`, one a module; begin with `console`.

Each is a click command named `command`, which a tool of the repository may be as well. They
import what they call when they are called, so that `--help` comes at once.
"""
