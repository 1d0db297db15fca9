"""Read a sweep's YAML file: 1e-3 is a number, and a duplicate key is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from kernelkit.errors import ParameterError

_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
# As in YAML 1.2: `on` and `no` are words, which may be values of a parameter.
_BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")


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


def load(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `ParameterError` if the file is missing or invalid."""
    try:
        # Safe: the loader is a SafeLoader with stricter numbers and booleans.
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506
    except (FileNotFoundError, IsADirectoryError):
        names = ", ".join(sorted(other.name for other in path.parent.glob("*.yaml")))
        there = f"; {path.parent} has {names}" if names else ""
        raise ParameterError(f"no sweep at {path}{there}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} must contain keys and values, like `notebook: 02_train.py`")
    return content
