"""A notebook's whole interface: its parameters, and the values for them.

    parameters  what the parameters cell declares: names, types, defaults and rules
    comments    the rule in a parameter's comment
    values      the values that are asked for, and how values are written
    idle        those of its parameters that change nothing

Begin with `parameters.of_notebook`. May import `notebook`, `notebook.code`, `notebook.language` and
the ground floor.
"""
