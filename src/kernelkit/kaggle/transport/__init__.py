"""One request to Kaggle: signing in, time limits, and what a failure means.

Begin with `connection.Connection`, which `authentication` opens. Each of its requests but a stream
ends within `time_limits`. `classify` makes a `failures.Failure` of what went wrong, with
`local_settings` for what this machine's own settings cause. May import the ground floor.
"""
