"""A run of a notebook on this machine, and the folder that every run leaves.

Begin with `run_notebook.run_notebook`; `run_folder` says what a folder holds. May import `notebook`
and the ground floor.
"""
