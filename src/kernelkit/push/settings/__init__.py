"""A kernel's settings: its kernel-metadata.json, or what is assumed without one.

    metadata  the settings as the file has them, each read into a typed value
    assumed   those of a notebook that has no such file

Begin with `metadata.Metadata`. May import `kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
