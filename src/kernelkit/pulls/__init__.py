"""Bring a version that was edited on Kaggle back into the project's files.

Begin with `pull.pull_edits`.
"""
