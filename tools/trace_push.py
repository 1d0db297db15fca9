"""Count what one rehearsed push goes through, on the way to the call that saves its kernel.

Of a script without inputs, of one with a dataset, and of a notebook with parameters, a module and a
competition: the modules that it enters, and how often a call crosses from one room of
`tests/rooms.py` to another. ROOMS are the pairs to list with the functions that are called, such as
`push kaggle`.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code
from tracing.push_trace import CASES, trace


@click.command(help=__doc__, context_settings=HELP)
@click.argument("rooms", nargs=-1)
@click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(__file__).resolve().parents[1],
    help="Count in another checkout, such as a worktree of an older commit.",
)
@exits_with_code
def main(rooms: tuple[str, ...], checkout: Path) -> None:
    for case in CASES:
        found = trace(checkout, case)
        click.echo(f"{case}: {len(found.modules)} modules, {found.crossings} crossings")
        for pair, count in found.pairs.most_common():
            click.echo(f"  {count:4}  {pair}")
            if pair in rooms:
                for function, calls in found.functions[pair].most_common():
                    click.echo(f"          {calls:4}  {function}")


if __name__ == "__main__":
    main()
