"""A kernel's settings: what its kernel-metadata.json says.

    metadata     the settings as one value, read from the file
    own_kernels  the kernels of this repository that a kernel reads, by their files

Begin with `metadata.Metadata`, and `metadata.locate`, which finds its file. May import `kaggle` and
the ground floor.
"""
