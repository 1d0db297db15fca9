"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`. May import `sweep`, `pages`, `runs`, `running` and the ground floor.
"""
