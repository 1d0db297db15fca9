"""A push, from its plan to its files at home.

Begin with `command`.
"""
