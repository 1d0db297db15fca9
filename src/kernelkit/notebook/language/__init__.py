"""The language of a cell: Python, with IPython's magics and shell lines in it.

    python        the syntax tree of a cell or a module; if it is not Python, a tree of its imports
                  only, and the `Problem`
    syntax        Python's own parser, also while another thread uses it
    statements    what the statements of a tree assign
    shell         the words of shell lines and magics, and what they start
    jupyter.toml  facts of Jupyter's kernel: the modules that it has loaded, and its magics

Begin with `python.tree`. May import only the ground floor.
"""
