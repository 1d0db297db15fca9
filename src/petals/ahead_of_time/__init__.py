"""Compile a run's programs at the desk for a TPU that is not there: `kernelkit check --tpu`.

Begin with `check`, which reads a request and writes what the compiler reports. It runs in its own
environment, which has libtpu. No bundle contains this room. Imports
`petals.training`, `petals.models`, `petals.data` and `petals.accelerators`.
"""
