"""Notebooks and scripts: saving them, their versions and sessions, outputs, logs and quota.

Begin with `kernels`. May import `faults`, `files`, `execution` and `wire`.
"""
