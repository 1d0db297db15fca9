"""Run a notebook on this machine, as one host or several.

Begin with `run_notebook`.
"""
