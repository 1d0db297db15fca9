"""The visitor that goes through a syntax tree once, and what it notes of each node.

    visitor         goes through the tree; its table says which function notes which class of node
    noting_context  what each of them gets: where the visitor is, and what it has noted
    noted_names     what reads and sets names, and imports
    noted_inputs    texts, and the inputs that they name
    noted_commands  commands of a shell, and processes
    noted_magics    magics
    noted_calls     calls, and what some of them do
    expressions     what a statement or an expression says by itself
    paths           the path that an expression gives

Begin with `visitor.visited`. What it fills are the `records` of `notebook.code`. May import these,
`notebook.language` and the ground floor.
"""
