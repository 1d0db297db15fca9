"""Watching Kaggle for a push: its state and the week's quota, stopping it, waiting for a session.

Begin with `status.tell_status`, `stop.stop_push` or `when_free.push_when_free`. May import `push`,
`submissions`, `kaggle`, `notebook`, `scores`, `session_records`, `runs` and the ground floor.
"""
