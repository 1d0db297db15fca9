"""Read a sweep's YAML file: 1e-3 is a number, and a duplicate key is an error."""

import re
from pathlib import Path
from typing import Any

import yaml

from kernelkit.errors import ParameterError

_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, except that 1e-3 is a number and duplicate keys are an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, each of whose keys is there once."""
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.YAMLError(f"{name!r} is given twice")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def load(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `ParameterError` if the file is missing or invalid."""
    try:
        # Safe: the loader is a SafeLoader with stricter numbers.
        content = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506
    except (FileNotFoundError, IsADirectoryError):
        names = ", ".join(sorted(other.name for other in path.parent.glob("*.yaml")))
        there = f"; {path.parent} has {names}" if names else ""
        raise ParameterError(f"no sweep at {path}{there}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ParameterError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} must contain keys and values, like `notebook: 02_train.py`")
    return content
