"""Rehearsals: their local Kaggle, and hidden test sets made from a competition's training data.

Begin with `stand_in.attached` or `hidden_data.make_hidden_data`. No other module than `stand_in`
knows `local_kaggle`. May import only the ground floor.
"""
