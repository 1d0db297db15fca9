"""What is looked at before a push is sent, each check from a plan to findings.

Begin with `findings`, what a check returns, and `preflight`, which lists the checks that need no
network, by the names of their functions:

    kernel_settings  the keys, names, sources, machine and image of kernel-metadata.json
    declared         parameters, and the project's rules and needs
    code             the room of those that ask what the code reads, calls and starts
    modules          the room of those that ask what it imports and installs
    leaving          the notebook's pair, the bundle's size, and credentials

The checks of what Kaggle said, an `Account`, are in `on_kaggle`. `locations` says where a finding
is; `annotations` tells findings in a GitHub job. Nothing asks Kaggle here. May import
`push.checks.code`, `push.checks.modules`, `push.checks.findings`, `push.asked`, `push.known`,
`push.planned`, `push.described`, `push.bundle`, `push.added`, `kaggle`, `notebook`, `leaks` and the
ground floor.
"""
