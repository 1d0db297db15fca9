"""Notebooks and scripts: saving them, their versions and sessions, outputs, logs and quota.

Begin with `kernels`. May import `faults`, `fault_responses`, `files`, `execution` and `wire`.
"""
