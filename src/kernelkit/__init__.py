"""Develop Kaggle notebooks locally: run, push, sweep, report.

`docs/explanation/architecture.md` says which room holds what. The rooms `terminal` and `exits`
and the modules beside the rooms are the ground floor, which every room but `session` may import. To
read it, begin with `errors`, by which every command ends, and `typed`, by which what a file says
becomes a value. `project` is the settings of a repository and where its folders are, `shown` what
it wants to see of its runs, and `interpreter` the Python that runs its code. `files`, `git` and
`processes` are what they say; `machines` is what Kaggle lends, `image` what is installed there.
`leaks` stands apart, for the rooms that send something: it finds credentials in what is about to
leave this machine.
"""
