"""Each command of `kernelkit`, in a module of its name: arguments, one call, an exit code.

Begin with `push`; `rehearse` takes its options. A command imports what it calls only when it runs,
so that `--help` is fast. It may import every room; no room imports it.
"""
