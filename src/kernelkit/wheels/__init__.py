"""Packages missing from Kaggle's image: found locally, installed in a session.

Begin with `find`; `session` is the part that is packed into a pushed notebook. May import only the
ground floor.
"""
