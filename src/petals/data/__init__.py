"""From TFRecord shards to batches: find the data, inspect it, feed it to training.

A photo becomes a batch in five modules:

    source    `find_source` says where the data is, and what its classes are called
    layout    which record files there are, and of which split and size each of them is
    records   what a record holds, and what its features are called
    shards    a `Split`: the files of train, val or test, their labels, ids and images
    pipeline  `Batches` reads, shuffles and decodes a split for training; `images` reads it in order

`dataset` calls the first four for 02_train and returns the splits of its run. `folds` divides them
anew, and `extra` adds photos of other sources; both find twins by `duplicates`. `task` warns of
what is odd about the photos.

The other modules are not on a photo's way: `samples` gives a few images to look at, `exploration`
measures for 01_explore, `inspection` checks a whole dataset, `damage` finds the image that cannot
be used, `formats` names what a file is instead of a photo, `classes` has the competition's names,
`writing` writes shards, and `photo_files` finds and crops photos that are no records yet.

Begin with `pipeline.Batches`. Imports only `settings` and the ground floor of petals; `source`
alone reaches up to `petals.prepare`, lazily, for the drawn flowers.
"""
