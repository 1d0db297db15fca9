"""A run's programs, compiled for a TPU at the desk: does it fit, how fast can it be at best.

Begin with `check.check_tpu`. The compiling itself is the project's own command, which runs in an
environment of its own (`environment`, `compiling`). Imports `kernelkit.notebooks`.
"""
