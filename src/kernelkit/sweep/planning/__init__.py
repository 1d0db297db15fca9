"""From a sweep's YAML file to its runs.

Begin with `specification.Specification` and `specification.PlannedRun`, and `sweep_file.SweepFile`,
which has the keys of a file; `yaml_file` reads it. `read_sweep.read` makes the first of the second,
with the `combinations` of its grid, runs and seeds. May import `notebook` and the ground floor.
"""
