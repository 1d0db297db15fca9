"""Notebook files: their cells, and how the two files of a pair differ.

    document  notebook files: their cells, the tag `parameters`
    scripts   a script's block of parameters, and how a pushed script is divided
    pairs     which text belongs to a notebook, and whether the two differ

Begin with `document.read`. The room `language` makes syntax trees of cells, `code` says what is
known of the code in a cell or a module, `interface` has a notebook's parameters, and `files` the
files of the repository that a notebook needs. Code is never run here. Apart from the search for
credentials, nothing else in the kit reads people's code. May import `notebook.language` and the
ground floor.
"""
