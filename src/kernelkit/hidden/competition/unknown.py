"""What is not certain of hidden data that is to be made, and the one error that asks for it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.project import HiddenSettings

MAKE_IT_YOURSELF = (
    "make the hidden data with a command of the project, hidden = {command = "
    '"python -m package.module {public} {hidden} {answers} {rows}"} below [tool.kernelkit] in '
    "pyproject.toml, or write it into a folder and name that with --hidden FOLDER"
)


@dataclass(frozen=True)
class Unknown:
    """Something that is not certain: what it is in words, and the settings that answer it.

    The settings are an example to complete, such as `{"target": ["COLUMN"]}`.
    """

    what: str
    settings: Mapping[str, Any]


def ask(unknown: Sequence[Unknown], settings: HiddenSettings) -> ParameterError:
    """The error that asks for everything that is unknown, with the line to paste.

    The line holds the other settings of the project too, so that it can take their place.
    """
    line = f"hidden = {in_toml(_completed(unknown, settings))}"
    if len(unknown) == 1:
        return ParameterError(
            f"{unknown[0].what}: say which it is, with {line} below [tool.kernelkit] in "
            "pyproject.toml"
        )
    listed = "\n".join(f"  {each.what}" for each in unknown)
    return ParameterError(
        f"{len(unknown)} things are to be said to make the hidden data:\n{listed}\n"
        f"Say which they are, with this line below [tool.kernelkit] in pyproject.toml:\n{line}"
    )


def _completed(unknown: Sequence[Unknown], settings: HiddenSettings) -> dict[str, Any]:
    """The settings to paste: those that are asked for, then the project's others.

    `columns` has both, by their names.
    """
    completed: dict[str, Any] = {}
    columns = dict(settings.columns)
    for each in unknown:
        completed |= each.settings
        columns |= each.settings.get("columns", {})
    for name, value in asdict(settings).items():
        if value:
            completed.setdefault(name, value)
    if columns:
        completed["columns"] = columns
    return completed


def in_toml(value: Any) -> str:
    """A text, a truth value, a list of texts, or a table of these, as TOML writes it in one line.

    All but a table is written as JSON does.
    """
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)  # TOML knows no pairs of \u
    pairs = []
    for name, each in value.items():
        key = name if name.isidentifier() and name.isascii() else in_toml(name)
        pairs.append(f"{key} = {in_toml(each)}")
    return "{" + ", ".join(pairs) + "}"
