"""What travels: the notebook with the modules that it imports.

    build        the notebook or script that is sent, with the checked parameters in it
    added_cells  the cells around its own, most of them before; `installing` and `manifest` are two
    number       the push's number in its first cell
    carried      the same bundle, read back from what Kaggle stores

Begin with `build.build`, which packs a notebook so that it needs only Kaggle's image and the
datasets that go with it. May import `notebook`, `session` and the ground floor.
"""
