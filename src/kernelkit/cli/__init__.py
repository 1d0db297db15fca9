"""The commands of `kernelkit`: arguments, one call, an exit code.

Begin with `console`, which says in which module each command is; `options` has what they share, and
how a function becomes a command with its exit code. A command imports what it calls only when it
runs, so that `--help` is fast. It may import every room; no room imports it.
"""
