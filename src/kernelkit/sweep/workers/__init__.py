"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`. May import `sweep`, `pages`, `scores`, `runs`, `running` and the
ground floor.
"""
