"""Upload files as a version of a dataset, or of a model's variation.

Begin with `uploads.upload_dataset`, which a command calls. `upload_metadata` reads what a
folder's files say of its dataset or model; `contents` names what is in a version by its checksums,
and `versions` makes a version where Kaggle lacks it. May import `exchange`, `kaggle`, `leaks` and
the ground floor.
"""
