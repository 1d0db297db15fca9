"""The recorders that ride in a pushed notebook, and where they leave their files in its session.

`push.bundle.build` puts them into the notebook, and `push.bundle.manifest` ends their files.
The sources of `recording` and `watching` travel as text, so they import only the standard library
and nothing of the kit. Begin with `recording`. May import nothing.
"""
