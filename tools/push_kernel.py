#!/usr/bin/env python
"""Push a notebook to Kaggle, wait for its run and bring the results home.

`--resume` is the one option that `kernelkit push` lacks: it is `kernelkit resume`.
"""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import click

from kernelkit.commands.kaggle.push import command as main
from kernelkit.commands.kaggle.resume import command as resume


def _resume(context: click.Context, _: click.Parameter, push: str | None) -> None:
    if push is not None:
        context.invoke(
            resume, push=push, **{p.name: None for p in resume.params if p.name != "push"}
        )
        context.exit()


if __name__ == "__main__":
    main()
