"""Submissions: send a result to its competition, keep what came of it, see where the account is.

Begin with `record.submit_and_keep`. It knows of no push, only of a run's folder and its file. May
import `kaggle`, `runs`, `scores`, `pages` and the ground floor.
"""
