"""Reading YAML: 1e-3 is a number, and a key that is given twice is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from kernelkit.errors import ParameterError

_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
# As YAML 1.2 has it: `on` and `no` are words, which a notebook may well take.
_BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which alone would read 1e-3 as text and keep the last of two keys."""


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
    """The mapping in a YAML file; raises `ParameterError` when it is missing or something else."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        raise ParameterError(f"no sweep at {path}{_others(Path(path).parent)}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text") from None
    try:
        # Safe: the loader is a SafeLoader that reads numbers and words more closely.
        content = yaml.load(text, _Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise ParameterError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} must hold keys and values, like `notebook: 02_train.py`")
    return content


def flow_list(text: str) -> list[Any]:
    """The values of a list as YAML writes it on a line, `[VGG16, 224]`; raises `ParameterError`."""
    try:
        values = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, as above
    except yaml.YAMLError:
        values = None
    if not isinstance(values, list) or not values:
        raise ParameterError(f"{text} is not a list: write it as [value, value]")
    return values


def _others(folder: Path) -> str:
    names = sorted(path.name for path in folder.glob("*.yaml")) if folder.is_dir() else []
    return f"; {folder} holds {', '.join(names)}" if names else ""
