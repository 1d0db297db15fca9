"""What the code of a cell or a module says: what it imports, calls, reads, writes and sets.

Begin with `reading.read`, which every command asks about a cell or a module, and with
`records.Reading`, its answer, which lists all that is known:

    reading         from source to such a reading
    records         the records of it
    visitor         the one visitor over a syntax tree, which has each node noted by
    noted_names         what reads and sets names, and imports
    noted_inputs        texts, and the inputs that they name
    noted_commands      shell lines, processes and magics
    noted_calls         calls, and what some of them do
    around          where in the tree the visitor is
    expressions     what a statement or an expression says by itself
    paths           the path that an expression gives

Code is never run here. May import `notebook.language` and the ground floor.
"""
