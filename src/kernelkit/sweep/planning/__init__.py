"""From a sweep's YAML file to its runs.

Begin with `read_sweep.read`. `yaml_file` reads the file, `sweep_file.SweepFile` has its keys, and
`combinations` makes runs of its grid, runs and seeds. What comes out is a
`specification.Specification`, with a `PlannedRun` for each run. May import `notebook` and the
ground floor.
"""
