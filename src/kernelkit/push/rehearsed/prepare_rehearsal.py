"""A rehearsal's Kaggle for a plan: the inputs that it mounts, and the packages of its sessions."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kernelkit.files import from_here
from kernelkit.push.datasets import own_datasets
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.rehearsed.plan_inputs import gather_inputs
from kernelkit.push.rehearsed.rehearsal_packages import see_to_packages
from kernelkit.rehearsal import inputs, stand_in
from kernelkit.rehearsal.inputs import Mounted
from kernelkit.rehearsal.stand_in import Rehearsal
from kernelkit.terminal.events import Event

INPUTS = Event("inputs")


@contextlib.contextmanager
def connected(context: PushContext, plan: Plan) -> Iterator[Mounted]:
    """A block in which Kaggle is there for a plan; in a rehearsal, with what the plan reads.

    Yields what a rehearsal mounts, which is nothing on Kaggle. Raises what `KaggleContext.connect`
    and `gather_inputs` raise, and `PreflightError` or `NetworkError` for packages that cannot be
    installed.
    """
    mounted = Mounted()  # what `_prepare` finds, once connecting has filled the catalogue

    def prepared() -> Mapping[str, Path]:
        nonlocal mounted
        mounted = _prepare(context, plan)
        return mounted.beside

    rehearsal = Rehearsal(plan.catalogue_command, plan.username, plan.request.memory, prepared)
    with context.connect(rehearsal):  # which Kaggle itself does not need
        yield mounted


def fill_catalogue(context: PushContext, plan: Plan) -> None:
    """Let the project's command write the inputs that a rehearsal attaches, if it has not yet."""
    with context.connect(Rehearsal(plan.catalogue_command, plan.username)):
        return  # connecting fills the catalogue


def _prepare(context: PushContext, plan: Plan) -> Mounted:
    """Find the inputs that a rehearsal mounts, and see to its packages; a dry run installs none."""
    found = gather_inputs(context, plan)
    for place, folder in found.beside.items():
        context.events(INPUTS, f"{from_here(folder)} is mounted as {place}")
    brought = {}
    for each in plan.datasets:
        place = inputs.place_in_catalogue("dataset", f"{stand_in.username()}/{each.slug}")
        brought[place] = own_datasets.staged(each, context.serves or context.runs)
        context.events(INPUTS, f"{each.words} is mounted as {place}")
    if not plan.request.dry_run:
        see_to_packages(context, plan, [*found.folders.values(), *brought.values()])
    return replace(found, beside={**found.beside, **brought})
