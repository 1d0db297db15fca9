"""Competitions: their files, submissions with their scores, and leaderboards.

Begin with `competitions`. May import `errors`, `files`, `kernels`, `execution`, `state` and `wire`.
"""
