"""Read a sweep's YAML file and apply its `kaggle:` block and the values of `-p`.

1e-3 is a number, and a duplicate key is an error. A value from `-p`, or from the base of the
`kaggle:` block, replaces an axis of that name; a list, as in `-p image_size=[192,224]`, replaces
the axis's values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kernelkit.errors import ParameterError
from kernelkit.notebooks import parameters
from kernelkit.notebooks.parameters import Parameter

SEED = "seed"
_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
# As in YAML 1.2: `on` and `no` are words, which may be values of a parameter.
_BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")

Values = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, except that 1e-3 is a number and duplicate keys are an error."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:bool"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tTfF"))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in mapping:
            raise ParameterError(f"{key!r} is given twice (line {key_node.start_mark.line + 1})")
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(path: Path) -> Values:
    """The mapping in a YAML file; raises `ParameterError` if the file is missing or invalid."""
    try:
        # Safe: the loader is a SafeLoader with stricter numbers and booleans.
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506
    except (FileNotFoundError, IsADirectoryError):
        names = ", ".join(sorted(other.name for other in path.parent.glob("*.yaml")))
        there = f"; {path.parent} has {names}" if names else ""
        raise ParameterError(f"no sweep at {path}{there}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ParameterError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} must contain keys and values, like `notebook: 02_train.py`")
    return content


def with_kaggle_block(content: Mapping[str, Any], block: Mapping[str, Any]) -> Values:
    """The sweep as it runs on Kaggle: its `kaggle:` block over the rest of the file.

    The names in `base` and `grid` are replaced individually (null removes a name), every other key
    as a whole.
    """
    base, axes = _not_null(block.get("base")), block.get("grid") or {}
    sweep = {**_fix(content, {name: [value] for name, value in base.items()}), **block}
    sweep["base"] = _not_null(content.get("base")) | base
    grid = _not_null({**(content.get("grid") or {}), **axes})
    sweep["grid"] = _without(grid, set(base) - set(axes))
    return sweep if sweep["grid"] else _without(sweep, ["grid"])


def with_values(
    content: Mapping[str, Any], declared: Mapping[str, Parameter], pairs: Iterable[str]
) -> Values:
    """The sweep with `name=value` and `name=[value, value]` strings applied.

    Raises `ParameterError` for what the notebook does not accept.
    """
    lists, plain = {}, []
    for pair in pairs:
        name, _, text = (part.strip() for part in pair.partition("="))
        takes_list = name in declared and declared[name].type in (list, dict, type(None))
        if name in declared and not takes_list and text[:1] + text[-1:] == "[]":
            lists[name] = _flow_list(text)
        else:
            plain.append(pair)
    values = parameters.resolve(declared, plain)
    if both := sorted(set(lists) & set(values)):
        raise ParameterError(f"{both[0]} is given twice")
    sweep = _fix(content, {**{name: [value] for name, value in values.items()}, **lists})
    sweep["base"] = names(sweep.get("base"), "base") | values
    if search := sweep.get("search"):
        sweep["search"] = {**search, "space": {**search.get("space", {}), **lists}}
    elif lists:
        sweep["grid"] = {**sweep.get("grid", {}), **lists}
    return sweep


def names(value: Any, where: str) -> Values:
    """A mapping's names and values, {} for None; raises `ParameterError` for anything else."""
    if not isinstance(value, dict | None):
        raise ParameterError(f"{where} must give names and values, not {value!r}")
    return {str(name): overrides for name, overrides in (value or {}).items()}


def _fix(content: Mapping[str, Any], fixed: Mapping[str, list[Any]]) -> Values:
    """The sweep without the axes of these names; `fixed` has their new values."""
    sweep = dict(content)
    if isinstance(sweep.get("grid"), dict):
        sweep["grid"] = _without(sweep["grid"], fixed)
        if not sweep["grid"] and content["grid"]:
            del sweep["grid"]
    if isinstance(sweep.get("search"), dict) and isinstance(sweep["search"].get("space"), dict):
        sweep["search"] = {**sweep["search"], "space": _without(sweep["search"]["space"], fixed)}
    if any(set(fixed) & set(names(run, "a run")) for run in sweep.get("runs") or []):
        cut = [_without(run, fixed) for run in sweep["runs"]]
        sweep["runs"] = list({json.dumps(run, sort_keys=True): run for run in cut}.values())
    if SEED in fixed:
        sweep.pop("seeds", None)
    # Drop the rules for values that no longer occur.
    rules = [names(rule, "exclude") for rule in sweep.get("exclude") or []]
    kept = [r for r in rules if all(r[name] in fixed[name] for name in set(r) & set(fixed))]
    single = {name for name, values in fixed.items() if len(values) == 1}
    return sweep | ({"exclude": [_without(rule, single) for rule in kept]} if rules else {})


def _flow_list(text: str) -> list[Any]:
    try:
        values = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, as above
    except yaml.YAMLError:
        values = None
    if not isinstance(values, list) or not values:
        raise ParameterError(f"{text} is not a list: write it as [value, value]")
    return values


def _not_null(values: Mapping[str, Any] | None) -> Values:
    return {name: value for name, value in (values or {}).items() if value is not None}


def _without(values: Mapping[str, Any], taken: Iterable[str]) -> Values:
    return {name: value for name, value in values.items() if name not in taken}
