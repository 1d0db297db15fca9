"""What a command that talks to Kaggle works with: its events, locks and time limits, and Kaggle.

Begin with `kaggle_context.KaggleContext`, which signs in, and starts a rehearsal's Kaggle where a
command asks for it. `timing` says how long anything may take. May import `rehearsal`, `kaggle` and
the ground floor.
"""
