"""The local Kaggle of a rehearsal: the only room that knows `local_kaggle`.

Begin with `stand_in.attached`. May import only the ground floor.
"""
