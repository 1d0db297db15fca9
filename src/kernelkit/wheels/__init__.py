"""Packages that Kaggle's image lacks: found at the desk, installed in a session.

Begin with `find`; `session` is the half that is packed into a pushed notebook. May import only
the ground floor.
"""
