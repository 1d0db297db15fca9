"""Compile a run's programs for a TPU at the desk: do they fit, and how fast can they be?

Begin with `check.check_tpu`. The project's own command compiles (`compiling`), in an environment
with the TPU's compiler (`environment`), for one of the machines in `chips`; `figures` says what
follows from what the compiler said. May import `notebook`, `scores` and the ground floor.
"""
