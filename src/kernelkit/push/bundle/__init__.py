"""What travels: the notebook with the modules that it imports.

    build      the notebook or script that is sent, with the checked parameters in it
    number     the push's number in its first cell
    read_back  the files and own cells of a bundle that Kaggle stores

Begin with `build.build`, which packs a notebook so that it needs only Kaggle's image and the
datasets that go with it. May import `push.added`, `notebook` and the ground floor.
"""
