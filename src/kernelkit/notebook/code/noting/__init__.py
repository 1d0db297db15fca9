"""The visitor that goes through a syntax tree once, and what it notes of each node.

    visitor         goes through the tree, and has each node noted by
    noted_names         what reads and sets names, and imports
    noted_inputs        texts, and the inputs that they name
    noted_commands      shell lines, processes and magics
    noted_calls         calls, and what some of them do
    around          where in the tree the visitor is
    expressions     what a statement or an expression says by itself
    paths           the path that an expression gives

Begin with `visitor.visited`. What it fills are the `records` of `notebook.code`. May import these,
`notebook.language` and the ground floor.
"""
