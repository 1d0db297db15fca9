"""What a session left of its run: its log, what its cells showed, and what proves its files.

Begin with `proved`: whether the files of a run are those that its session wrote, by the
`session_manifest` in which it lists them. `log` is the session's log, kept with the notebook that
ran, and `failure` what ended the run by that. The rest comes from the recorders in the room
`session`: `shown_outputs` is what the cells showed, `executed_cells` the notebook with these
outputs, and `machine_use` whether a process used the accelerator. Nothing in these files is
trusted. May import `notebook`, `session`, `runs` and the ground floor.
"""
