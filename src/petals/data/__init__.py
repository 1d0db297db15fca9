"""From TFRecord shards to batches: find the data, inspect it, feed it to training.

A photo becomes a batch in five modules:

    source    `find_source` says where the data is, and what its classes are called
    layout    which record files there are, and of which split and size each of them is
    records   what a record holds, and what its features are called
    shards    a `Split`: the files of train, val or test, their labels, ids and images
    pipeline  `Batches` reads, shuffles and decodes a split for training; `images` reads it in order

`samples` shows a few images of a split, `damage` finds the one that cannot be used, and `writing`
writes shards.

`dataset` puts the splits of a run together from these, with `folds` and `extra`, which find twins
by `duplicates`; `task` warns of what is odd about them. Begin with `pipeline.Batches`. Imports only
`settings` and the ground floor of petals; `source` alone reaches up to `petals.prepare`, lazily,
for the drawn flowers.
"""
