"""The wheels of a push: chosen before Kaggle is asked, and attached as a dataset of their own.

Its name ends in a hash of its files. So the same wheels are uploaded once for all pushes and
machines, and the dataset that a push attached never changes.
"""

import importlib.metadata
from dataclasses import replace

from packaging.utils import canonicalize_name

from kernelkit import machines
from kernelkit.errors import PreflightError
from kernelkit.project import Project
from kernelkit.push.datasets.own_datasets import OwnDataset
from kernelkit.push.datasets.wheel_set import (
    WheelSet,
    find_wheels,
    kaggles_python,
    pinned,
    this_python,
)
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.known.session_images import python_seen
from kernelkit.push.planned.plan import Plan
from kernelkit.terminal.events import WARNING, Event

WHEELS = Event("wheels")


def with_wheels(context: PushContext, plan: Plan) -> Plan:
    """The plan with its wheels, and the dataset that has them among its sources; nothing is sent.

    The dataset's owner is a placeholder, as in a kernel's metadata. Raises what `find_wheels`
    raises.
    """
    project = plan.project
    chosen = find(context, plan)
    if chosen is None:
        return plan
    plan = replace(plan, wheels=chosen)
    if not chosen.wheels:
        context.events(WHEELS, f"{chosen.words} already has {', '.join(project.wheels)}")
        return plan
    name = chosen.dataset_name(project)
    context.events(
        WHEELS,
        f"{chosen} for {chosen.words}: attached as your dataset {name}",
        dataset=name,
        packages={wheel.name: wheel.version for wheel in chosen.wheels},
    )
    return plan.bringing(OwnDataset(name, chosen.contents, f"wheels for {chosen.words}", "wheels"))


def find(context: PushContext, plan: Plan) -> WheelSet | None:
    """The wheels for the Python that the push will run in; None if the project names none.

    While no session has shown its machine's Python, those for each of Kaggle's Pythons. Raises
    what `find_wheels` raises for the one Python, or for all of them.
    """
    pins = plan.project.wheels
    if not pins:
        return None
    if context.rehearsal:
        found = find_wheels(pins, this_python(), context.runs)
        return replace(found, there=_installed(plan.project))
    seen = python_seen(context.runs, plan.kind)
    suiting, refusals = [], []
    for python in [seen] if seen else machines.PYTHONS:
        try:
            suiting.append(find_wheels(pins, kaggles_python(python), context.runs))
        except PreflightError as refusal:
            refusals.append(refusal)
    if not suiting:
        raise refusals[0]
    for text in refusals:
        context.events(WARNING, f"the run fails if Kaggle's machine has this Python: {text}")
    by_file = {wheel.path.name: wheel for chosen in suiting for wheel in chosen.wheels}
    wheels = tuple(by_file[name] for name in sorted(by_file))
    return WheelSet(wheels, " and ".join(chosen.words for chosen in suiting))


def _installed(project: Project) -> frozenset[str]:
    """The modules of the project's wheels that are installed here."""
    wanted = pinned(project)
    found = set()
    for module, distributions in importlib.metadata.packages_distributions().items():
        if wanted.intersection(map(canonicalize_name, distributions)):
            found.add(module)
    return frozenset(found)
