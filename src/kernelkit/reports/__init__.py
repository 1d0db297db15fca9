"""The pages that people open: the report of a run, the index of runs, and what they share.

Begin with `report`. May import `run_folders`, `notebooks` and the ground modules.
"""
