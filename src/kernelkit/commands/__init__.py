"""The commands of `kernelkit`, in four rooms; begin with `console`.

A command imports what it calls only when it runs, so that `--help` answers at once. It may import
`options` and what it calls, but no other room of commands.
"""
