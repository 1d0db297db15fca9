"""HTML and Markdown pages: the report of a run, the index of runs, and their shared parts.

Begin with `report`. May import `run_folders`, `notebooks` and the ground modules.
"""
