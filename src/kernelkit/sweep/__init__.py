"""Run one notebook many times, as a YAML file describes; the results are one table.

Begin with `command.sweep`. `workers` runs them in local processes; `backends` sends them elsewhere.
Inside a session, only `backends.in_session` and its imports run: nothing from `kernelkit.pushes`,
`kernelkit.kaggle_api` or `local_kaggle`.
"""
