"""The cells that a push adds to a notebook, as text, with the sources that they carry.

    added_cells  their sources: most of them come before the notebook's own
    installing   the source of the one that installs wheels

Begin with `added_cells.added_cells`. What the others carry is in the room `session`, whose
recorders ride in a notebook. May import `notebook`, `session` and the ground floor.
"""
