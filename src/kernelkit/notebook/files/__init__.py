"""The repository's files that a notebook needs, found by one rule.

    own_files  the rule, from a notebook to the files
    modules    the files of a package as text, and those of them that imports reach

Begin with `own_files`. May import `notebook`, `notebook.code`, `notebook.language` and the ground
floor.
"""
