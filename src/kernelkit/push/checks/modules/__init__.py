"""Checks of what code imports and installs: whether a session has it, and whether it finds a TPU.

    session_modules  `modules`: those that a session lacks, unless code brings them
    own_modules      `own-modules`: those that the last run here had loaded, and the bundle lacks
    tpu_use          `machine-use`: code on its way to a TPU that it cannot find
    available        what a session has
    installs         what commands install, and what code brings

Each of the first three is one function from a plan to findings, called as the check that a user
names. May import `push.checks.findings`, `push.checks.locations`, `push.known`, `push.planned`,
`runs`, `notebook` and the ground floor.
"""
