"""The results of a sweep: their table and page, and the best of them; what a sweep says at its end.

Begin with `table.gather`, which makes the value that the others take: the runs in their current
state. `ranking` finds the best, and `summary` is the last thing that a sweep shows. May import
`planning`, the sweep's folder, `pages`, `scores`, `session_records`, `runs`, `notebook` and the
ground floor.
"""
