"""Processes that run notebooks: scheduling, memory, time limits, forked kernels.

Begin with `engine.Engine`, which says when a run begins and records how it ended. `launchers`
starts its process, which is `run_process`: a new one, or one forked of a server of that module,
with a `forked_kernel`. May import `planning`, `search`, the sweep's folder, `pages`, `scores`,
`runs`, `running`, `notebook` and the ground floor.
"""
