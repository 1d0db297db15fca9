"""A run's folder: its files, its log, which push it belongs to, and its measures.

Begin with `run_folder`.
"""
