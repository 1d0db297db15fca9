"""Many runs of one notebook, described by one YAML file; the results are one table.

Begin with `command.sweep`. `workers` runs them in processes here; `backends` sends them elsewhere.
Inside a session only `backends.in_session` and what it imports run: nothing of
`kernelkit.pushes`, `kernelkit.kaggle_api` or `local_kaggle`.
"""
