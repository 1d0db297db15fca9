"""Competitions: their files, submissions with their scores, and leaderboards.

Begin with `competitions`. May import `api`, `files`, `kernels` and `state`.
"""
