"""Submit a run to its competition and wait for the score.

Begin with `submit`.
"""
