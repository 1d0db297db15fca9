"""Run one notebook many times, as a YAML file describes; the results are one table.

Begin with `run_sweep.sweep`, the values `specification.Specification` and
`specification.PlannedRun`, and `sweep_folder.SweepFolder`, which remembers the runs: a sweep goes
on with those that have not ended there. `progress.SweepProgress` shows it and writes its results.
`workers` runs notebooks in local processes; `backends` sends them elsewhere. May import `pages`,
`scores`, `session_records`, `runs`, `notebook` and the ground floor; `backends` more. Inside a
session, only `backends.in_session` and its imports run: nothing from `kernelkit.push`,
`kernelkit.kaggle` or `local_kaggle`.
"""
