"""What the kit assumes of Kaggle and cannot try here, tried with an account of yours.

Begin with `examination`: the probes in their order. `assumptions` is the list, `session` what its
notebook looks at. May import what speaks to Kaggle, and no push: a doctor works when pushes do not.
"""
