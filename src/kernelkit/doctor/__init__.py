"""Test what the kit assumes about Kaggle, with a real account.

Begin with `examination`, the probes in order. `assumptions` lists what is tested; `session` runs in
the probe's notebook. May import what talks to Kaggle, but no push, because it must work when pushes
fail.
"""
