"""What rides in a pushed notebook and runs in its session, and where it leaves its files.

The sources of `recording` and `watching` travel as text, so they import only the standard library
and nothing of the kit. Begin with `recording`. May import nothing.
"""
