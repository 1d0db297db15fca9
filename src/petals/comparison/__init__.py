"""Compare finished runs: their table, the effect of each axis, ensembles, disagreements.

Begin with `runs.read`. Reads run folders and needs no accelerator.
"""
