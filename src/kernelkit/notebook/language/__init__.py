"""The language of a cell: Python, with IPython's magics and shell lines in it.

    python  the syntax tree of a cell or a module; of what is no Python, that of its imports, and
            the `Problem`
    syntax  Python's own parser, also while another thread uses it
    shell   the words of shell lines and magics, and what they start

Begin with `python.tree`. May import only the ground floor.
"""
