"""Notebook files, and what is known of the code in them.

Begin with `reading.read`, which every command asks about a cell or a module, and with
`records.Reading`, its answer, which lists all that is known:

    document     notebook files: their cells, the tag `parameters`
    pairs        which text belongs to a notebook, and whether the two differ
    parameters   the parameters cell, a notebook's whole interface, and the values for it
    idle         those of its parameters that change nothing
    rules        a project's own rules for those values
    own_files    the repository's files that a notebook needs, found by one rule
    modules      the files of a package as text
    reading      what a cell or a module imports, starts, calls, names, sets and reads
    records      the records of such a reading
    python       the Python of a cell: plain, or as IPython's transformer makes it of magics
    visitor      the one visitor over its tree
    expressions  what a statement or an expression says by itself
    shell        the words of shell lines, and what they start

Code is never run here. Nothing else in the kit looks into people's code, but for the search for
credentials. May import only the ground floor.
"""
