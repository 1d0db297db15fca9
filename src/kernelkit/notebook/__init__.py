"""Notebook files, and the parameters cell, which is a notebook's whole interface.

Begin with `parameters.declared`. May import only the ground floor.
"""
