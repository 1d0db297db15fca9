"""What Kaggle's images hold: the modules that a session can import, and who brings them.

The facts are in `image.toml`; `holds` has three answers, since not every image is known.
"""

import importlib.machinery
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from kernelkit.machines import Kind

_STDLIB = sys.stdlib_module_names - {"asynchat", "asyncore", "imp", "smtpd"}  # gone in Python 3.12
_IMAGE = tomllib.loads(Path(__file__).with_name("image.toml").read_text("utf-8"))


def _modules(table: str) -> frozenset[str]:
    return frozenset(module for brought in _IMAGE[table].values() for module in brought)


# Distributions without a wheel for Kaggle's Python, and what to do instead, as the end of a
# sentence.
NO_WHEEL: dict[str, str] = _IMAGE["no_wheel"]
KAGGLES_OWN = frozenset(_IMAGE["kaggles_own"])
_OWN = KAGGLES_OWN - {"kaggle_benchmarks", "kaggle_evaluation"}  # which some sessions alone have
_TPU = _STDLIB | _OWN | {*_IMAGE["tpu_modules"], *_IMAGE["tpu_brought_along"]}
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


MISSING_MODULE = re.compile(r"No module named '(\w+)")  # as Python says it

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


def requirements() -> dict[str, str]:
    """What to ask a package index for, to get the image's series of those distributions of which it
    is known: {"pandas": "pandas~=2.2"}."""
    return {name: f"{name}~={series}" for name, series in _IMAGE["series"].items()}


def distributions(kind: Kind) -> frozenset[str]:
    """The distributions of an image, by their normalised names, as far as they are known."""
    listed = [name for table in _TABLES[kind] for name in _IMAGE[table]]
    return frozenset((*listed, *filter(None, map(distribution, MODULES[kind]))))


def missing_here(
    modules: Iterable[str], kind: Kind | None = None, folder: Path | None = None
) -> list[str]:
    """The modules that a session imports on Kaggle, and neither this Python nor `folder` has.

    kind    the kind of the session's machine; by default any
    folder  as `pip install --target` leaves one

    Modules whose distribution is not known are left out, Kaggle's own among them.
    """
    kinds = [kind] if kind else list(MODULES)
    held = set().union(*(MODULES[each] for each in kinds)) - sys.stdlib_module_names
    places = [str(folder), *sys.path] if folder else sys.path
    finder = importlib.machinery.PathFinder
    finder.invalidate_caches()  # which may know the folder as it was
    wanted = [name for name in dict.fromkeys(modules) if name in held and distribution(name)]
    return [name for name in wanted if not finder.find_spec(name, places)]


def engines(calls: Iterable[str]) -> list[str]:
    """The modules that pandas imports for these calls, by their full names, and for no others."""
    called = {call.rpartition(".")[2] for call in calls}
    listed = _IMAGE["engines"]
    return [module for module, functions in listed.items() if called.intersection(functions)]


def of_another_series(modules: Iterable[str], folder: Path) -> dict[str, str]:
    """The modules whose distribution is here, or in `folder`, in another series than in Kaggle's
    image, each with the version that is here: {"pandas": "3.1.1"}."""
    others = {}
    known = requirements()
    for module in dict.fromkeys(modules):
        name = distribution(module)
        if name not in known:
            continue
        found = importlib.metadata.distributions(name=name, path=[str(folder), *sys.path])
        here = next((each.version for each in found), "")
        if here and not Requirement(known[name]).specifier.contains(here, prereleases=True):
            others[module] = here
    return others


def how_to_get(missing: Sequence[str], *, tried: bool = False) -> str:
    """What to do about modules that Kaggle's image has and this Python lacks, in one sentence.

    `tried`: whether `--packages kaggle` was given, which is then not advised.
    """
    names = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
    install = f"pip install {' '.join(dict.fromkeys(map(distribution, missing)))}"
    text = f"Kaggle's image has {names}, and this Python does not: {install}"
    if tried:
        return text
    return f"{text}, or kernelkit rehearse --packages kaggle, which installs for rehearsals alone"


def about_missing(message: str, kind: Kind | None = None, *, tried: bool = False) -> str:
    """A sentence about the module that an exception's message misses, with what to do.

    It is empty unless Kaggle's image has the module, on this kind of machine or, by default, any.
    """
    named = MISSING_MODULE.search(message)
    kinds = [kind] if kind else list(MODULES)
    if not named or not any(named[1] in MODULES[each] for each in kinds):
        return ""
    if not distribution(named[1]):
        return f"Kaggle's image has {named[1]}, and no package index does"
    return how_to_get([named[1]], tried=tried)
