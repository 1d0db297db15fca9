"""How the answers of hidden data are scored, as the local Kaggle reads it.

That is `solutions/SLUG.toml` of a catalogue, which is written where the project's settings name a
metric, and is somebody's own otherwise.
"""

from collections.abc import Sequence
from pathlib import Path

from kernelkit import files
from kernelkit.hidden.competition.unknown import Unknown, in_toml
from kernelkit.project import HiddenSettings, Project


def unknown_metric(rules: Path, settings: HiddenSettings) -> list[Unknown]:
    """That the metric is not known: neither do the settings name one, nor are the rules there."""
    if settings.metric or rules.is_file():
        return []
    what = f"it is not known how {rules.stem} is scored (rmse is an example: f1_macro, roc_auc, …)"
    return [Unknown(what, {"metric": "rmse"})]


def write(rules: Path, project: Project, columns: Sequence[str]) -> None:
    """Write the rules for answers with these columns, if the settings name a metric."""
    metric = project.hidden.metric
    if not metric:
        return
    values: dict[str, object] = {"metric": metric}
    if ":" in metric:  # a function of the project gets all columns
        values["path"] = [str(path) for path in project.import_paths() or [project.root]]
        values["minimize"] = project.shown.minimize
        values["columns"] = [columns[0]]
    else:
        values["columns"] = list(columns)
    lines = [f"{name} = {in_toml(value)}\n" for name, value in values.items()]
    files.write_text(rules, "".join(lines))
