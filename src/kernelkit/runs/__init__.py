"""A run of a notebook on this machine, and the folder that every run leaves.

Begin with `run_notebook.run_notebook`; `run_folder` says what a folder holds, and `kit_folder` what
of it is the kit's own. May import `notebook`, `session` and the ground floor.
"""
