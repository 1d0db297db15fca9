"""Rehearsals: their local Kaggle, its inputs, and the environment that leads clients to it.

Begin with `stand_in.attached`. No other module than `stand_in` knows `local_kaggle`. May import
only the ground floor.
"""
