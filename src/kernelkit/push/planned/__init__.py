"""What is asked for, a kernel's settings, and what would be sent.

    request      what a command or a caller asks for: made once, and read by every later stage
    metadata     a kernel's settings, read from its kernel-metadata.json into typed values
    assumed      those of a notebook that has no such file
    code_file    which notebook the settings are for
    own_kernels  the kernels of this repository that a kernel reads, and that a chain pushes first
    plan         what would be sent: a bundle, its settings and datasets, made of the disk alone

Begin with `plan.plan_push`, from a request to a plan. May import `push.datasets`, `push.bundle`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
