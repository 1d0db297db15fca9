"""One request to Kaggle: signing in, time limits, what a failure means, when it is repeated.

Begin with `connection.Connection`, which `authentication` opens and whose every request ends within
`time_limits`. `classify` makes a `failures.Failure` of what went wrong, with `local_settings` for
what this machine's own settings cause; `retries` repeats what may pass. May import the ground
floor.
"""
