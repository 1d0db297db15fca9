"""What travels: the notebook with the modules that it imports, its settings, its wheels.

    build         the notebook or script that is sent, with the checked parameters in it
    added_cells   the cells that come before its own, of which `installing` and `manifest` are two
    carried       the same bundle, read back from what Kaggle stores
    metadata      a kernel's settings, as its kernel-metadata.json has them
    assumed       those of a notebook that has none
    wheel_set     the wheels that a session needs, which `pip` downloads
    own_datasets  the datasets that a push makes of wheels and folders

Begin with `build.build`, which packs a notebook so that it needs only Kaggle's image. May import
`notebook`, `kaggle`, `rehearsal`, `session` and the ground floor.
"""
