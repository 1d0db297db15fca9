"""The folder that a run leaves: its files, its log, who is writing it, whether it is whole.

Begin with `run_folder`.
"""
