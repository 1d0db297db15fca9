"""A push, from its plan to the outputs on this machine.

Begin with `command`.
"""
