"""`kernelkit`: one command for each thing that you do with a notebook and Kaggle."""

import click

from kernelkit.cli.lazy_group import LazyGroup
from kernelkit.exits.exit_codes import HELP

# In the order of the help. Each command is in the module of its name in `kernelkit.cli.commands`.
GROUPS = {
    "Start": ("init", "doctor"),
    "Run": ("run", "rehearse"),
    "Kaggle": ("check", "push", "resume", "submit", "status", "stop", "pull", "upload"),
    "Compare": ("sweep", "report"),
}
COMMANDS = [name for names in GROUPS.values() for name in names]

main = click.version_option(package_name="kernelkit", message="kernelkit %(version)s")(
    LazyGroup(
        "kernelkit",
        package="kernelkit.cli.commands",
        groups=GROUPS,
        context_settings=HELP,
        help="Develop Kaggle notebooks locally: run, rehearse, push, sweep, report.",
        epilog="Exit codes: 0 complete, 1 an error in the kit, 2 wrong usage, 3 the push would "
        "fail, 4 no valid token, 5 refused by Kaggle or no capacity, 6 the run failed, 7 the "
        "deadline passed, 8 the network gave up, 9 outputs incomplete or not verified, 10 wrong "
        "machine, 11 data or weights missing, 12 a file cannot be used, 13 still running, 14 does "
        "not fit the TPU, 15 no TPU compiler here, 130 interrupted.\n\n"
        "NO_COLOR=1 turns colours off.\n\n"
        'Completion in bash: eval "$(_KERNELKIT_COMPLETE=bash_source kernelkit)"; in zsh and fish '
        "with zsh_source and fish_source.",
    )
)
