"""Upload files as a version of a dataset, or of a model's variation.

Begin with `uploads`, which the command calls: it uploads a folder. `upload_metadata` reads what a
folder's files say of its dataset or model; `contents` names what is in a version by its checksums,
and `versions.ensure_version` makes a version where Kaggle lacks it, of a push's folders and wheels
too. May import `exchange`, `kaggle`, `leaks` and the ground floor.
"""
