"""Figures of a run and of photos (`run`), and what a report lays out itself (`records`).

Begin with `run`, which also has the colours and axes. Imports `petals.data` and
`petals.evaluation`.
"""
