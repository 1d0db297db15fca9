"""The folder that every run leaves, here as on Kaggle, and what can be read from it.

Begin with `run_folder` and `kit_folder`, which say what the folder holds. Of a push, `claims` says
whose the folder is, `proved` whether its files are the session's, `log` and `session_record` what
that said and showed, and `machine_use` whether it used its accelerator. Of a run here, `active`
says whether it goes on, and `loaded` what it had imported. `metrics`, `measures` and `history` are
what a run measured, `measured` is what that is worth, and `submissions` what came of it;
`score_agreement` compares many runs with their public scores. May import `notebook`, `session` and
the ground floor.
"""
