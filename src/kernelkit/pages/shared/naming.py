"""Names of runs: a folder's name, or in a sweep what differs, because a hash is for machines.

Every page calls a run as `run_name` does, by the run and its sweep alone: no page knows the runs
that another one shows.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit.pages.shared import trail
from kernelkit.runs import run_state
from kernelkit.scores.metrics import Metrics

SEED = "seed"
OUTPUT = "output"  # where a run writes its files, which changes nothing else

Values = Mapping[str, Any]


def run_name(folder: Path) -> tuple[str, str]:
    """A run's name, and its setting, which is the name without the seed.

    A run of a sweep is named by what differs among the sweep's runs, every other one by its folder.
    """
    settings: Values = {}
    if varying := trail.varying(folder):
        values = parameters(folder)
        settings = {name: values[name] for name in varying if name in values}
    return name_and_setting(settings, folder.resolve().name)


def parameters(folder: Path) -> dict[str, Any]:
    """All parameters of a run except `output`; empty if they are unknown."""
    values = run_state.read(folder).parameters
    if not values:  # of a session: Kaggle hands out no hidden folders
        values = Metrics.of_run(folder).parameters
    return {name: value for name, value in values.items() if name != OUTPUT}


def name_and_setting(settings: Values, otherwise: str) -> tuple[str, str]:
    """A name of all settings, and one of those without the seed; `otherwise` if there are none."""
    unseeded = {name: value for name, value in settings.items() if name != SEED}
    return setting_text(settings) or otherwise, setting_text(unseeded) or otherwise


def setting_text(values: Values) -> str:
    """`augment=strong schedule=constant`, numbers to four digits: a search proposes sixteen."""
    texts = []
    for name, value in values.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        texts.append(f"{name}={text}")
    return " ".join(texts)
