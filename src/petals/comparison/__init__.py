"""Finished runs side by side: their table, the effect of each axis, ensembles, disagreements.

Begin with `runs.load`. Reads run folders and needs no accelerator.
"""
