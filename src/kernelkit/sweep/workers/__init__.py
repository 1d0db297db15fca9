"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`. May import `sweep`, `pages`, `runs` and the ground floor.
"""
