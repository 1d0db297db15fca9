"""What a project's own functions say of a run's parameters, and which sources a run reads.

    rules    the two functions that `[tool.kernelkit]` may name, and what they answer
    calling  the process in which they are called

Begin with `rules`. May import `notebook.interface` and the ground floor.
"""
