"""One file from Kaggle or to it, and the datasets and models that have versions.

Begin with `transfers.receive`, which downloads a file whole or not at all; `blob_upload` sends
one. `targets` says what Kaggle knows of a dataset or of a model's variation, and makes a version of
it. May import `kaggle` and the ground floor.
"""
