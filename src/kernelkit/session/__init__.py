"""What rides in a pushed notebook and runs in its session, and names that the desk reads it by.

The source of `recording` and `watching` travels as text, so each imports only the standard library
and nothing of the kit. Begin with `recording`. May import nothing.
"""

FOLDER = "kernelkit_session"  # of the session's output
RECORD = "shown-*.jsonl"  # in there: what the cells showed, in the order of the files' numbers
MACHINE = "machine.json"  # in there: which processes opened the accelerator
