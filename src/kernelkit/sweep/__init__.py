"""Many runs of one notebook from one YAML file, one table, nothing lost.

Begin with `command.sweep`. `workers` are the processes of runs; `backends` are the other places
where runs go. Inside a session only `backends.in_session` and what it imports run: nothing of
`kernelkit.pushes`, `kernelkit.kaggle_api` or `local_kaggle`.
"""
