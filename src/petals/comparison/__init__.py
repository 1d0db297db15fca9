"""Several finished runs: their scores, where two disagree, and whether several are better together.

Begin with `runs.read`. Imports `petals.settings`, `petals.data` and `petals.evaluation`.
"""
