"""Checks of what a notebook's code reads, calls and starts, as `notebook.code` reads it.

    local_reads  `paths`: what code reads that lies on this machine alone
    mounts       `mounts`: what it reads below /kaggle/input
    cells        `bundle`: what is not Python, magics, exits, and modules that do not travel
    doubts       `calls`: calls and commands that a session may not be able to answer

Each is one function from a plan to findings, called as the check that a user names. What they find
are mostly guesses: code may do more than its text says. May import `push.checks.modules`,
`push.checks.findings`, `push.checks.locations`, `push.planned`, `push.assumed`, `push.described`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
