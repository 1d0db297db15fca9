"""Run one notebook many times, as a YAML file describes; the results are one table.

Begin with `run_sweep.sweep`. `workers` runs notebooks in local processes; `backends` sends them
elsewhere. May import `pages`, `runs`, `notebook` and the ground floor; `backends` more. Inside a
session, only `backends.in_session` and its imports run: nothing from `kernelkit.push`,
`kernelkit.kaggle` or `local_kaggle`.
"""
