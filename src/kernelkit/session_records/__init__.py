"""What a session left of its run: its log, what its cells showed, and what proves its files.

Begin with `proved`: whether the files of a run are those that its session wrote, by the
`session_manifest` in which it lists them. `log` is the session's log, `failure` what ended the run
by that; `shown_outputs` is what its cells showed, and `machine_use` whether a process used the
accelerator: the recorders of the room `session` write both. Nothing in these files is trusted. May
import `notebook`, `session`, `runs` and the ground floor.
"""
