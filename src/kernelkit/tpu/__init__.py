"""Compile a run's programs for a TPU at the desk: do they fit, and how fast can they be?

Begin with `check.check_tpu`. The project's own command compiles, in its own environment
(`compiling`, `environment`). May import `notebook`, `scores` and the ground floor.
"""
