"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`. May import `sweep`, `pages`, `runs`, `notebook` and the ground floor.
"""
