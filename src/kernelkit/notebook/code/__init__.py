"""What the code of a cell or a module says: what it imports, calls, reads, writes and sets.

Begin with `reading.read`, which every command asks about a cell or a module, and with
`records.Reading`, its answer, which lists all that is known:

    reading      from source to such a reading
    records      the records of it
    python       the Python of a cell: plain, or as IPython's transformer makes it of magics
    syntax       its tree
    visitor      the one visitor over the tree
    expressions  what a statement or an expression says by itself
    places       the path that an expression has
    shell        the words of shell lines, and what they start

Code is never run here. May import only the ground floor.
"""
