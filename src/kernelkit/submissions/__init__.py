"""Entering a run into its competition, and its score.

Begin with `submit`.
"""
