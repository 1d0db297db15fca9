"""The folder that every run leaves, here as on Kaggle, and what can be read from it.

Begin with `run_folder` and `kit_folder`, which say what the folder holds. Of a push, `claims` says
whose the folder is, `proved` whether its files are the session's, `log` and `session_record` what
that said and showed, and `submissions` what came of it. Of a run here, `active` says whether it
goes on, and `loaded` what it had imported. `metrics`, `measures` and `history` are what a run
measured, and `measured` what that is worth. May import `notebook`, `session` and the ground floor.
"""
