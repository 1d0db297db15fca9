"""Files exchanged with Kaggle: transfers, and the datasets and models that hold files.

Begin with `transfers`, which receives one file, whole or not at all, and `blob_upload`, which sends
one. `targets` are what has versions, datasets and variations of models; `contents` names what is in
a version by its checksums, and `versions` makes one where Kaggle lacks it. `uploads` does so for
the command `upload`, and `downloads` fetches what is attached. May import `kaggle`, `leaks` and the
ground floor.
"""
