"""The state of a push and the week's hours at Kaggle, in a line each."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

from kernelkit.errors import ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Status, Stored
from kernelkit.plans import plan
from kernelkit.project import RUNS
from kernelkit.pushes.follow import kernel_of
from kernelkit.pushes.resuming import earlier
from kernelkit.terminal import safe_text
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import LAST, LEDGER, CommandOptions, in_project
from kernelkit.workspace.ledger import Push

COUNTED = ("tpu", "gpu")  # the machines whose hours Kaggle counts


def tell_status(
    reference: str = LAST,
    **options: Unpack[CommandOptions],
) -> str:
    """Report the state of a push's session and return it: queued, running, complete, error …

    `reference`: `owner/slug/N`, or "last" of the ledger. Raises `ParameterError` where there is
    no such push, `CredentialsError` or `NetworkError` where Kaggle cannot be asked.
    """
    context = in_project(plan.here(None), options)
    with context.asking(reference) as kaggle:
        push = earlier(context, kaggle, reference)
        try:
            status = kaggle.status(kernel_of(push), push.version)
        except Failure as failure:
            raise failure.error() from None
    if status is None:
        raise ParameterError(f"Kaggle has no {push.reference}, or not for this account")
    why = f": {status.message}" if status.message else ""
    context.events(
        "status",
        f"{push.reference}: {status.state}{why}",
        kernel=push.kernel,
        version=push.version,
        state=status.state,
        alive=status.alive,
    )
    return status.state


def state_of(kaggle: Kaggle, push: Push) -> tuple[Stored, Status | None]:
    """A push's version as Kaggle stores it, and the state of its session.

    Raises `ParameterError` where there is no such version, `CredentialsError` or `NetworkError`.
    """
    kernel = kernel_of(push)
    try:
        stored = kaggle.stored(kernel, push.version)
        status = kaggle.status(kernel, push.version)
    except Failure as failure:
        raise failure.error() from None
    if stored is None:
        raise ParameterError(f"Kaggle has no {push.reference}, or not for this account")
    return stored, status


def list_pushes(runs: Path | None = None, *, as_json: bool = False) -> str:
    """The ledger of pushes as a table, or `as_json` one object a line.

    `runs` defaults to the folder of the present project.
    """
    pushes = ledgers.Ledger((runs or plan.here(None).root / RUNS) / LEDGER).pushes()
    if as_json:
        return "\n".join(json.dumps({"event": "listed", **asdict(push)}) for push in pushes)
    return safe_text.plain(ledgers.table(pushes))


def tell_quota(**options: Unpack[CommandOptions]) -> dict[str, float]:
    """Report the hours of each accelerator that are left this week; returns {kind: hours left}.

    Raises `CredentialsError` or `NetworkError` where Kaggle cannot be asked.
    """
    context = in_project(plan.here(None), options)
    left = {}
    with context.asking() as kaggle:
        for kind in COUNTED:
            try:
                quota = kaggle.quota(kind)
            except Failure as failure:
                raise failure.error() from None
            if quota is None:
                continue
            left[kind] = quota.left
            context.events(
                "quota",
                f"{kind.upper()}: {quota.left:.1f} of {quota.allowed:.0f} hours are left this week",
                kind=kind,
                used=quota.used,
                allowed=quota.allowed,
                left=quota.left,
            )
    return left
