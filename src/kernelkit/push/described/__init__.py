"""A kernel's settings: what its kernel-metadata.json says, or what is assumed of a notebook.

    metadata     the settings as one value, read from the file
    assumed      those of a notebook that has no such file
    own_kernels  the kernels of this repository that a kernel reads, by their files

Begin with `metadata.Metadata`, and `metadata.locate`, which finds its file. May import `kaggle`,
`rehearsal`, `notebook` and the ground floor.
"""
