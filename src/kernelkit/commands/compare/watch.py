"""Open a page over all runs that follows them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kernelkit.commands import options


@options.command("watch", ("", "runs"))
@click.argument("folder", required=False, type=options.FILE)
def watch(folder: Path | None, as_json: bool, quiet: bool) -> None:
    """Open a page over all runs here that follows them, until Ctrl-C.

    FOLDER is the folder of the runs (default: the project's runs/). The page is served to this
    machine alone, at an address with a token; without a browser, open the address that is printed.
    """
    from kernelkit.live import watch

    def tell(address: str) -> None:
        text = address if quiet else f"live, on this machine alone: {address}\nCtrl-C ends it"
        click.echo(json.dumps({"event": "live", "address": address}) if as_json else text)

    watch(folder, tell)
