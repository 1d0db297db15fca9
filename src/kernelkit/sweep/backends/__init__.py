"""Places to run a sweep other than this machine: a Dask cluster, Kaggle sessions.

Begin with `kaggle_sessions`, which pushes the sweep; in the session `in_session` runs it. May
import `sweep`, `workers`, `push` with its rooms, `kaggle`, `scores`, `session_records`, `runs`,
`notebook` and the ground floor.
"""
