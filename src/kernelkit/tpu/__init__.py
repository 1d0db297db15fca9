"""Compile a run's programs for a TPU at the desk: do they fit, and how fast can they be?

    check          the command
    tpu_run        a run on a TPU, and what the compiler said of it, which is kept until it changes
    largest_batch  the search for the largest batch that fits
    figures        what follows from what the compiler said of a program
    chips          the machines

Begin with `check.check_tpu`; a push begins with `tpu_run.TpuRun`. The room `compiler` compiles. May
import `notebook`, `scores` and the ground floor.
"""
