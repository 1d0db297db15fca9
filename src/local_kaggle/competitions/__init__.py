"""Competitions: their files, submissions with their scores, and leaderboards.

Begin with `competitions`. May import `files`, `kernels`, `execution`, `wire`, `state`, `catalogue`
and `errors`.
"""
