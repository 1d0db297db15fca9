"""The commands of `kernelkit`: arguments, one call, an exit code.

Begin with `console`. A command imports what it calls only when it runs, so that `--help` is fast.
It may import every room; no room imports it.
"""
