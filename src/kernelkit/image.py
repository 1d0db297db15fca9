"""What Kaggle's images hold: the modules that a session can import, and who brings them.

`image.toml` says which modules a distribution brings; `holds` has three answers, since not every
image is known.
"""

import sys
import tomllib
from pathlib import Path

from kernelkit.machines import Kind

_STDLIB = sys.stdlib_module_names - {"asynchat", "asyncore", "imp", "smtpd"}  # gone in Python 3.12
_IMAGE = tomllib.loads(Path(__file__).with_name("image.toml").read_text("utf-8"))
_FACTS = tomllib.loads(Path(__file__).with_name("kaggle.toml").read_text("utf-8"))


def _modules(table: str) -> frozenset[str]:
    return frozenset(module for brought in _IMAGE[table].values() for module in brought)


# Distributions without a wheel for Kaggle's Python, and what to do instead, as the end of a
# sentence.
NO_WHEEL: dict[str, str] = _FACTS["image"]["no_wheel"]
KAGGLES_OWN = frozenset(_FACTS["image"]["kaggles_own"])
_OWN = KAGGLES_OWN - {"kaggle_benchmarks", "kaggle_evaluation"}  # which some sessions alone have
_TPU = _STDLIB | _OWN | {*_FACTS["image"]["tpu"], *_FACTS["image"]["brought_along"]}
_CPU = _STDLIB | _OWN | _modules("cpu_and_gpu")

# The top-level modules that a session can import, by the kind of its machine.
MODULES: dict[Kind, frozenset[str]] = {"tpu": _TPU, "gpu": _CPU | _modules("gpu"), "cpu": _CPU}
# Distributions of the images by their modules, and those that no image has.
_DISTRIBUTIONS: dict[str, str] = {}
for _table in ("lacking", "tpu", "gpu", "cpu_and_gpu"):
    for _name, _brought in _IMAGE[_table].items():
        _DISTRIBUTIONS |= dict.fromkeys(_brought, _name)
# Where several distributions bring a module, the one to install.
_DISTRIBUTIONS |= {"attr": "attrs", "cv2": "opencv-python-headless", "google": "protobuf"}


# The tables with the distributions of an image. Those of the TPU's image are not all known.
_TABLES: dict[Kind, tuple[str, ...]] = {
    "tpu": (),
    "gpu": ("cpu_and_gpu", "gpu"),
    "cpu": ("cpu_and_gpu",),
}


def holds(module: str, kind: Kind) -> bool | None:
    """Whether the image of such a session has a top-level module; None if that is not known.

    It has not what another image or a public list has under a name that is known, and its own
    lists do not.
    """
    if module in MODULES[kind]:
        return True
    if module in _modules("gpu") and kind == "cpu":
        return None
    return False if module in _DISTRIBUTIONS else None


def distribution(module: str) -> str:
    """The name under which pip installs a top-level module, such as grpcio for grpc.

    Empty if it is not known to be one: whoever registers such a name at a package index would run
    code here.
    """
    return "" if module in KAGGLES_OWN else _DISTRIBUTIONS.get(module, "")


def distributions(kind: Kind) -> frozenset[str]:
    """The distributions of an image, by their normalised names, as far as they are known."""
    listed = [name for table in _TABLES[kind] for name in _IMAGE[table]]
    return frozenset((*listed, *filter(None, map(distribution, MODULES[kind]))))
