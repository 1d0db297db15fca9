"""A run's programs, compiled for a TPU that is not there, at the desk: `kernelkit tpu`.

Begin with `check`, which reads a request and writes what the compiler says; it runs in an
environment of its own, which holds libtpu. Nothing of this rides in a bundle. Imports
`petals.training`, `petals.models`, `petals.data` and `petals.accelerators`.
"""
