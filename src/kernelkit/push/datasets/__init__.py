"""The datasets that a push makes of this machine's files: wheels and attached folders.

    own_datasets  such a dataset, named by its content
    wheel_set     the wheels that a session needs
    pip           the one that downloads them

Begin with `own_datasets`. May import `kaggle` and the ground floor.
"""
