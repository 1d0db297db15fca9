"""Commands as a terminal starts them, wherever the tests were started."""

import sys

# A shell in the background and nohup ignore signals, and their children inherit that. In a process
# of its own, since `preexec_fn` forks the tests' own process, which may have JAX's threads.
_START = """\
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def in_foreground(program, *arguments):
    """The command line that starts a program (its path) with no signal ignored."""
    return [sys.executable, "-c", _START, str(program), *map(str, arguments)]
