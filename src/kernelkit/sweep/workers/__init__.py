"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`. May import `planning`, `search`, the sweep's folder, `pages`, `scores`,
`runs`, `running`, `notebook` and the ground floor.
"""
