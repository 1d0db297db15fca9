"""What is asked for, a kernel's settings, and what would be sent.

    request   what a command or a caller asks for: made once, and read by every later stage
    metadata  a kernel's settings as its kernel-metadata.json has them, read into typed values
    assumed   those of a notebook that has no such file
    plan      what would be sent: a bundle, its settings and datasets, made of the disk alone

Begin with `plan.plan_push`, from a request to a plan. May import `push.datasets`, `push.bundle`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
