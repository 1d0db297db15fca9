"""What travels: the notebook with the modules that it imports.

    build        the notebook or script that is sent, with the checked parameters in it
    added_cells  the cells around its own, most of them before
    manifest     the source of the one that has the session list its files at its end
    installing   the source of the one that installs wheels
    number       the push's number in its first cell
    read_back    the files and own cells of a bundle that Kaggle stores

Begin with `build.build`, which packs a notebook so that it needs only Kaggle's image and the
datasets that go with it. May import `notebook`, `session` and the ground floor.
"""
