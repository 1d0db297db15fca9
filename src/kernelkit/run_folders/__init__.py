"""A run's folder: its files, its log, which process writes it, whether it is complete.

Begin with `run_folder`.
"""
