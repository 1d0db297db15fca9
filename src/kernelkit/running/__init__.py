"""A run of a notebook on this machine: its parameters, its folder, papermill, and what failed.

Begin with `run_notebook.run_notebook`. May import `notebook`, `runs`, `scores` and the ground
floor.
"""
