"""Rehearsals: their local Kaggle, and hidden test sets made from a competition's training data.

Begin with `stand_in.attached`, the only module that knows `local_kaggle`, or
`hidden_data.make_hidden_data`. May import only the ground floor.
"""
