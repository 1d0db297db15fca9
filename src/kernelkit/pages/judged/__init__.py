"""A run beside others: what its score is worth, what to do next, and what changed since the last.

Begin with `verdict.of_run`. `comparable` finds the runs beside it and says when chance could make
a difference, and `since_last` lays out what changed. May import `runs`, `session_records`,
`scores`, `shared` and the ground floor.
"""
