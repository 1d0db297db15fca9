"""Watching pushes that were made: their states, the week's quota, and ending a session.

Begin with `status.tell_status` or `stop.stop_push`. May import `push`, `submissions`, `kaggle`,
`runs` and the ground floor.
"""
