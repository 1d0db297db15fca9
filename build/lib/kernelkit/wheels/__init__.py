"""Packages that Kaggle's image lacks: found at the desk, installed in a session.

Begin with `find`; `session` is the half that rides as text in a pushed notebook. May import the
ground floor alone.
"""
