"""Read a sweep's YAML file: 1e-3 is a number, `on` a word, and a duplicate key an error."""

import re
from pathlib import Path
from typing import Any

import yaml

from kernelkit.errors import ParameterError

_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
# As in YAML 1.2: `on` and `no` are words, which may be values of a parameter.
_BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_BOOLEAN_TAG = "tag:yaml.org,2002:bool"


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, except that 1e-3 is a number, and `on` and `no` are words.

    Duplicate keys are an error. So is an anchor within itself, which would be a value that
    contains itself.
    """

    def construct_document(self, node: yaml.Node) -> Any:
        """A document whose values are complete before they are used anywhere else."""
        self.deep_construct = True  # refuses an alias of what is not complete
        return super().construct_document(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, each of whose keys is there once."""
        seen = set()
        for key, _ in node.value:
            name = (key.tag, str(key.value))
            if name in seen:
                line = key.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: {key.value!r} is given twice")
            seen.add(name)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != _BOOLEAN_TAG]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOLEAN_TAG, _BOOLEAN, list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def load(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `ParameterError` if the file is missing or invalid."""
    try:
        text = path.read_text("utf-8")
        # Safe: the loader is a SafeLoader with stricter numbers.
        content = yaml.load(text, _Loader)  # noqa: S506
    except (FileNotFoundError, IsADirectoryError):
        names = ", ".join(sorted(other.name for other in path.parent.glob("[!.]*.yaml")))
        there = f"; {path.parent} has {names}" if names else ""
        raise ParameterError(f"no sweep at {path}{there}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ParameterError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} must contain keys and values, like `notebook: 02_train.py`")
    return content
