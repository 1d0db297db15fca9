"""Checks of what a notebook's code reads, calls and imports, as `notebook.code` reads it.

    local_reads      what code reads that lies on this machine alone
    mounts           what it reads below /kaggle/input
    cells            what is not Python, magics, and modules that do not travel
    session_modules  modules that a session lacks, unless code `installs` them
    own_modules      modules that the last run here had loaded, and the bundle lacks
    doubts           calls and commands that a session may not be able to answer
    tpu_use          code on its way to a TPU that it cannot find
    locations        the places that a finding names

Each is one function from a plan to findings. May import `push.checks.findings`, `push.known`,
`push.planned`, `runs`, `kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
