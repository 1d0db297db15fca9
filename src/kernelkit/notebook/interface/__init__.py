"""A notebook's whole interface: its parameters, and the values for them.

    parameters  the parameters cell, what it declares, and the values that are asked for
    rules       a project's own rules for those values
    idle        those of its parameters that change nothing

Begin with `parameters.of_notebook`. May import `notebook`, `notebook.code`, `notebook.language` and
the ground floor.
"""
