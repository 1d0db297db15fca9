"""The command line: which commands there are, and what they share.

Begin with `console`, which has the commands in the order of the help; `lazy_group` finds one in the
module of its name. `definition` makes a command of a function, `options` has what several take, and
`completion` says what a shell offers for it. May import `notebook`, `push` and the ground floor.
"""
