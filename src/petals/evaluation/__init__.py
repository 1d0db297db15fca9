"""Predictions, the scores they earn, and the submission they become.

`metrics` runs without TensorFlow; `prediction` needs a model. Imports `petals.data` and
`petals.accelerators`.
"""
