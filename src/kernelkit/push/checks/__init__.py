"""Everything that is looked at before a push is sent, each check from a plan to findings.

Begin with `preflight`, which lists the checks that need no network:

    kernel_settings  the keys, names, sources, machine and image of kernel-metadata.json
    declared         parameters, and the project's rules and needs
    local_reads      what code reads that lies on this machine alone
    mounts           what it reads below /kaggle/input
    cells            what is not Python, magics, and modules that do not travel
    session_modules  modules that a session lacks, unless code `installs` them
    own_modules      modules that the last run here had loaded, and the bundle lacks
    doubts           calls and commands that a session may not be able to answer
    tpu_use          code on its way to a TPU that it cannot find
    leaving          the notebook's pair, the bundle's size, and credentials

The check of what Kaggle said, an `Account`, is `on_kaggle`, and `compiled` asks the TPU's compiler.
`findings` tells what was found and ends the push at an error, `annotations` tells it to GitHub, and
`repository` checks many kernels. Nothing asks Kaggle here. May import `push.request`, `push.plan`,
`push.account`, `push.ledger`, `push.push_context`, `push.bundle`, `tpu`, `session_records`, `runs`,
`rehearsal`, `kaggle`, `notebook`, `leaks` and the ground floor.
"""
