"""Checks of what a notebook's code reads, calls and imports, as `notebook.code` reads it.

    tpu_use          `machine-use`: code on its way to a TPU that it cannot find
    local_reads      `paths`: what code reads that lies on this machine alone
    mounts           `mounts`: what it reads below /kaggle/input
    cells            `bundle`: what is not Python, magics, exits, and modules that do not travel
    session_modules  `modules`: those that a session lacks, unless code `installs` them
    own_modules      `own-modules`: those that the last run here had loaded, and the bundle lacks
    doubts           `calls`: calls and commands that a session may not be able to answer

Each is one function from a plan to findings, called as the check that a user names. What they find
are mostly guesses: code may do more than its text says. `locations` says where a finding is. May
import `push.checks.findings`, `push.known`, `push.planned`, `push.described`, `runs`, `kaggle`,
`rehearsal`, `notebook` and the ground floor.
"""
