"""The folder that every run leaves, here as on Kaggle: what is in it, whose it is, how far it is.

Begin with `run_folder`, what the run itself left, and `kit_folder`, the kit's own files beside it.
Then `run_state` says which notebook ran with which parameters, and whether it is over or goes on;
`claims`, to which push a folder belongs; `fetched`, what was downloaded of that; `loaded`, what a
run here had imported; `submitted`, what was submitted of a run and the score that it got. What a
session left is in `session_records`, what a run measured in `scores`. May import `notebook`,
`session` and the ground floor.
"""
