"""A notebook run on this machine: papermill, several hosts.

Begin with `run_notebook`.
"""
