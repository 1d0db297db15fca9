#!/usr/bin/env python
"""Push a notebook to Kaggle, wait for its run and bring the results home."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import click

from kernelkit.commands.kaggle.push import push
from kernelkit.commands.kaggle.pushed import resume


def _push_or_resume(earlier: str | None, **given: object) -> None:
    """Push; with `--resume`, the one option that `kernelkit push` lacks, do what `resume` does."""
    if earlier is None:
        click.get_current_context().invoke(push, **given)
    else:
        taken = {parameter.name: given.get(str(parameter.name)) for parameter in resume.params}
        click.get_current_context().invoke(resume, **{**taken, "push": earlier})


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
)

if __name__ == "__main__":
    main()
