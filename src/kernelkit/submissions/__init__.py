"""Submissions: send a result to its competition, keep what came of it, see where the account is.

Begin with `record.submit_and_keep`: it lets `submission` send a file, or a kernel's version, at
most once, which an `attempt` remembers, and keeps what came of it. `submitted_file` says which file
of a run it is, and `standing` asks for the rank. The room knows of no push, only of a run's folder
and its file. May import `kaggle`, `runs`, `scores`, `pages` and the ground floor.
"""
