"""The folder that every run leaves, here as on Kaggle, and what can be read from it.

Begin with `run_folder` and `kit_folder`, which say what the folder holds, then `metrics`. May
import `notebook`, `session` and the ground floor.
"""
