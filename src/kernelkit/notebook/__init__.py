"""Notebook files: their cells, and what the two files of a pair differ in.

    document          notebook files: their cells, the tag `parameters`
    pairs             which text belongs to a notebook, and whether the two differ
    lacking_packages  the packages that a notebook imports and this Python lacks

Begin with `document.read`. The room `language` makes syntax trees of cells, `code` says what is
known of the code in a cell or a module, `interface` has a notebook's parameters, and `files` the
files of the repository that a notebook needs. Code is never run here. Nothing else in the kit looks
into people's code, but for the search for credentials. May import `notebook.code` and the ground
floor.
"""
