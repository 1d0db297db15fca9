"""Each command of `kernelkit`, in a module of its name: arguments, one call, an exit code.

Begin with `push`; `rehearse` takes its options. A command imports what it calls only when it runs,
so that `--help` is fast. What a command has no argument of its own for, its `values`, goes on by
name to the function that it calls: options, and `local`, `as_json` and `quiet` of
`cli.definition`. It may import every room; no room imports it.
"""
