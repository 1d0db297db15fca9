"""Serve a Kaggle for rehearsals on 127.0.0.1 until SIGINT, SIGTERM or SIGHUP.

Prints the shell lines that point the official client at it. Running sessions are killed at the end;
the next server with the same root continues from there.
"""

import json
import shlex
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import click

from local_kaggle.catalogue import fill_catalogue
from local_kaggle.errors import LocalKaggleError
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import CANNOT_WRITE, UNSET_FOR_CLIENT, LocalKaggle
from local_kaggle.state import DEFAULT_USER

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", default=0, show_default="a free one", help="Port on 127.0.0.1.")
@click.option(
    "--root",
    type=FOLDER,
    default=Path(".local_kaggle"),
    show_default=True,
    help="Folder for kernels, sessions, datasets and submissions.",
)
@click.option(
    "--catalogue",
    type=FOLDER,
    show_default="ROOT/catalogue",
    help="Folder with competitions/, datasets/ and solutions/ that kernels can use.",
)
@click.option("--faults", type=int, metavar="SEED", help="The seed of the faults to inject.")
@click.option(
    "--fill", metavar="COMMAND", help="The command that fills {catalogue} before serving."
)
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="NAME",
    default=[DEFAULT_USER],
    show_default=True,
    help="An account; may be repeated. environment.sh signs in the first.",
)
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="TOKEN[=NAME]",
    help="An access token for an account (default: the first).",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0.1),
    metavar="GB",
    help="Limit a session to less memory than this machine has, instead of Kaggle's limit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def command(
    root: Path,
    port: int,
    catalogue: Path | None,
    faults: int | None,
    fill: str | None,
    accounts: tuple[str, ...],
    tokens: tuple[str, ...],
    memory: float | None,
    **output: bool,
) -> None:
    limits = ServerLimits()
    if memory is not None:
        limits = replace(limits, memory_bytes=dict.fromkeys(limits.memory_bytes, memory * 1e9))
    schedule = None if faults is None else FaultSchedule.seeded(faults)
    try:
        owners = {}
        for token, _, owner in (each.partition("=") for each in tokens):
            owners[token] = owner or accounts[0]
            if owners[token] not in accounts:
                raise LocalKaggleError(f"a token belongs to {owner}: add --account {owner}")
        kaggle = LocalKaggle(
            root,
            port=port,
            catalogue=catalogue,
            faults=schedule,
            limits=limits,
            accounts=dict.fromkeys(accounts, ""),
            tokens=owners,
        )
        if fill:
            fill_catalogue(kaggle.catalogue, fill)
        serve(kaggle, **output)
    except (LocalKaggleError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(getattr(error, "exit_code", CANNOT_WRITE))


def serve(kaggle: LocalKaggle, *, as_json: bool, quiet: bool) -> None:
    """Serve until a signal comes; `root/environment.sh` holds the shell lines meanwhile."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, lambda *_: stop.set())
    with kaggle:
        variables = kaggle.environment(next(iter(kaggle.accounts)))
        exports = [f"export {k}={shlex.quote(v)}" for k, v in variables.items()]
        lines = "\n".join([f"unset {' '.join(UNSET_FOR_CLIENT)}", *exports])
        script = kaggle.root / "environment.sh"
        script.unlink(missing_ok=True)
        script.touch(mode=0o600)  # it holds the key
        script.write_text(f"{lines}\n")
        event = {
            "event": "serving",
            "url": kaggle.url,
            "catalogue": str(kaggle.catalogue),
            "set": variables,
            "accounts": kaggle.accounts,
            "unset": UNSET_FOR_CLIENT,
            "script": str(script),
        }
        text = (
            f"# a Kaggle for rehearsal, catalogue in {kaggle.catalogue}\n{lines}\n"
            f"# the same lines: . {shlex.quote(str(script))}"
        )
        try:
            if as_json or not quiet:
                click.echo(json.dumps(event) if as_json else text)
            while not stop.wait(0.5):  # a wait without end would not notice signals
                continue
        finally:
            script.unlink(missing_ok=True)
