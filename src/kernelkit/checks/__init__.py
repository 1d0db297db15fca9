"""Everything that is looked at before something is sent.

Begin with `preflight`.
"""
