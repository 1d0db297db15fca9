"""Run one notebook many times, as a YAML file describes; the results are one table.

Begin with `run_sweep.sweep`, which goes through the rooms in their order: `planning` reads the
file; a grid's runs are known then, `search` chooses them as it goes. `sweep_folder` remembers how
each ended, so that a sweep goes on with the others. `workers` runs notebooks here, `backends`
elsewhere. `progress` shows the runs that end, and writes the `results`. May import `pages`,
`session_records`, `runs` and the ground floor. Inside a session, only
`backends.in_session` and its imports run: nothing from `kernelkit.push`, `kernelkit.kaggle` or
`local_kaggle`.
"""
