#!/usr/bin/env python
"""Push a notebook to Kaggle, wait for its run and bring the results home."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import click
from click.core import ParameterSource

from kernelkit.cli.commands.push import push
from kernelkit.cli.commands.resume import resume
from kernelkit.errors import ParameterError
from kernelkit.exits.exit_codes import HELP, exits_with_code


@exits_with_code
def _push_or_resume(earlier: str | None, **given: object) -> None:
    """Push; with `--resume`, the one option that `kernelkit push` lacks, do what `resume` does."""
    context = click.get_current_context()
    if earlier is None:
        context.invoke(push, **given)
        return
    names = {str(parameter.name) for parameter in resume.params}
    for parameter in push.params:
        name = str(parameter.name)
        if name not in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(f"--resume does not take {parameter.opts[0]}: drop one of them")
    taken = {name: value for name, value in given.items() if name in names}
    context.invoke(resume, **{**taken, "push": earlier})


_RESUME = click.Option(
    ["--resume", "earlier"],
    is_flag=False,
    flag_value="last",
    metavar="[OWNER/SLUG/N]",
    help="Wait for and fetch an earlier push, the last one by default.",
)
main = click.Command(
    "push",
    callback=_push_or_resume,
    params=[*push.params, _RESUME],
    help=push.help,
    epilog=push.epilog,
    context_settings=HELP,
)

if __name__ == "__main__":
    main()
