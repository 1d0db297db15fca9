"""`kernelkit`: one command for each thing that you do with a notebook and Kaggle."""

import click

from kernelkit.terminal.exits import LazyGroup

# The module of each command, in the groups and the order of the help.
GROUPS = {
    "Start": dict.fromkeys(("init", "doctor"), "start"),
    "Run": {"run": "run", "rehearse": "push", "rerun": "push"},
    "Kaggle": {
        **dict.fromkeys(("check", "push"), "push"),
        **dict.fromkeys(("resume", "fetch", "submit", "status", "quota", "stop"), "pushed"),
        "queue": "queue",
        "pull": "pushed",
        "upload": "upload",
    },
    "Compare": dict.fromkeys(("sweep", "report"), "compare"),
}
COMMANDS = [name for group in GROUPS.values() for name in group]

main = click.version_option(package_name="kernelkit", message="kernelkit %(version)s")(
    LazyGroup(
        "kernelkit",
        package="kernelkit.cli",
        groups=GROUPS,
        help="Develop Kaggle notebooks locally: run, rehearse, push, sweep, report.",
        epilog="Exit codes: docs/reference/exit-codes.md. NO_COLOR=1 turns colours off.\n\n"
        'Completion in bash: eval "$(_KERNELKIT_COMPLETE=bash_source kernelkit)"; in zsh and fish '
        "with zsh_source and fish_source.",
    )
)
