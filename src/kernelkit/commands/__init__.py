"""The commands of `kernelkit`, in four rooms; begin with `console`.

A command imports what it calls only when it runs, so that `--help` is fast. It may import `options`
and what it calls, but no other room of commands.
"""
