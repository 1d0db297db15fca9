"""Edits: bring a version that was edited on Kaggle home, into the notebook and its sources.

Begin with `pull.pull_edits`; `merge` is also git's merge driver for notebooks. May import `push`,
`kaggle`, `notebook` and the ground floor.
"""
