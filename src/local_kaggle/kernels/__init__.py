"""Notebooks and scripts: saving them, their versions and sessions, outputs, logs and quota.

Begin with `kernels`. May import `files`, `execution`, `faults`, `fault_responses`, `wire`,
`serving`, `state`, `catalogue` and `limits`.
"""
