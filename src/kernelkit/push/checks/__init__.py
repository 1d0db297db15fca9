"""Everything that is looked at before a push is sent, each check from a plan to findings.

Begin with `findings`, what a check returns, and `preflight`, which lists the checks that need no
network, by the names of their functions:

    kernel_settings  the keys, names, sources, machine and image of kernel-metadata.json
    declared         parameters, and the project's rules and needs
    code             the room of those that ask what the code reads, calls and imports
    leaving          the notebook's pair, the bundle's size, and credentials

The check of what Kaggle said, an `Account`, is `on_kaggle`, and `compiled` asks the TPU's compiler.
`repository` checks many kernels, and `annotations` tells GitHub what was found. Nothing asks Kaggle
here. May import `push.checks.code`, `push.checks.findings`, `push.known`, `push.planned`,
`push.described`, `push.bundle`, `tpu`, `kaggle`, `notebook`, `leaks` and the ground floor.
"""
