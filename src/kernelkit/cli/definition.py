"""How a function becomes a command: its help, the options of all commands, its exit code."""

from collections.abc import Callable
from typing import Any

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code

AS_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object per event.")
QUIET = click.Option(["--quiet"], is_flag=True, help="Only warnings, errors and the result.")


class _Command(click.Command):
    """A command that answers `--tpu` with the option that was meant: `--accelerator tpu`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left; raises `click.UsageError` with the nearest option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            kind = error.option_name.removeprefix("--")
            has_machines = any(option.name == "accelerator" for option in self.params)
            if has_machines and kind in ("tpu", "gpu", "cpu"):
                text = f"No such option '--{kind}'. Did you mean '--accelerator {kind}'?"
                raise click.UsageError(text, ctx) from None
            raise


def command(
    *examples: str, local: str = "", **settings: Any
) -> Callable[[Callable[..., object]], click.Command]:
    """Turn a function into the command of its name, which ends with the exit code of its error.

    examples  for the help: what is typed after the command's name
    local     what `--local` does in this command; "" if it has no such option
    settings  those of `click.command`
    """

    def made(function: Callable[..., object]) -> click.Command:
        name = function.__name__
        lines = [f"  kernelkit {name} {words}".rstrip() for words in examples]
        settings["epilog"] = "\n".join(["\b", "Examples:", *lines])  # \b: as it stands here
        define = click.command(name, cls=_Command, context_settings=HELP, **settings)
        new = define(exits_with_code(function))
        if local:
            new.params.append(click.Option(["--local"], is_flag=True, help=local))
        new.params += [AS_JSON, QUIET]
        return new

    return made
