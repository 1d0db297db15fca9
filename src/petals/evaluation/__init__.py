"""Predictions, their scores, and the submission.

`metrics` runs without TensorFlow; `prediction` needs a model. Imports `petals.data` and
`petals.accelerators`.
"""
