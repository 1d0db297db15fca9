"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`.
"""
