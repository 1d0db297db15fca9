"""The datasets that a push makes of this machine's files: wheels and attached folders.

    own_datasets  what such a dataset is, and those of the folders in `attach`
    wheel_set     the wheels that a session needs; `push.asked.wheels` makes a dataset of them
    pip           downloads them, and installs what a rehearsal lacks

Begin with `own_datasets.attached_folders`. May import `kaggle` and the ground floor.
"""
