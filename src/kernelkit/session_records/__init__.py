"""What a session left of its run: its log, what its cells showed, and what proves its files.

Begin with `proved`: whether the files of a run are those that its session wrote, by the manifest.
`log` is the session's log, `failure` what ended the run by that; `shown_outputs` is what its cells
showed, and `machine_use` whether a process used the accelerator. Nothing in these files is trusted.
May import `notebook`, `session`, `runs` and the ground floor.
"""
