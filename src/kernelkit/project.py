"""The settings of a repository: `[tool.kernelkit]` in `pyproject.toml`.

[tool.kernelkit]
packages = ["mypackage"]               # bundled into a pushed notebook
keep_best = {"model.h5" = 3}           # files that only the best N runs of a sweep keep
submission = "submission.parquet"      # the output to submit, if there are several
wheels = ["optuna==4.6.0"]             # packages missing from Kaggle's image, as wheels

# makes the inputs of a rehearsal; {NAME} is replaced by the parameter's values in the push
catalogue = "python -m blossom.catalogue {catalogue} {image_size}"

[tool.kernelkit.needs]                 # what some parameter values need
internet = ["weights=imagenet"]
download = ["weights=auto"]            # the internet, or an attached dataset, model or kernel
competition = ["data=competition"]
desk = ["data=drawn"]                  # works only locally

[tool.kernelkit.tpu]                   # `kernelkit tpu`: compile programs for a TPU locally
command = "python -m blossom.compile"  # reads a request, writes results (kernelkit.tpu.compiling)
requirements = "requirements-tpu.lock" # the packages of its environment, .venv-tpu
note = "3 GB"                          # shown to the user before that is created
batch = "batch_size"                   # the parameter with the batch size per replica
before_push = false                    # whether every push to a TPU is checked

[tool.kernelkit.shown]                 # what pages and summaries show first, see `shown`
score = "f1"                           # key of metrics.json that ranks the runs
parameters = ["model", "image_size"]
measures = { f1 = "F1", accuracy = "accuracy", seconds = "seconds" }

[tool.kernelkit.offers]                # allowed values, when a parameter has a given value
"data=competition" = {image_size = [192, 224]}
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from kernelkit.errors import PreflightError, nearest
from kernelkit.shown import Shown

NEEDS = ("internet", "download", "competition", "desk")
RUNS = "runs"  # the folder of runs, in a project's root
LOCAL_KAGGLE = "local_kaggle"  # in it, the state of the rehearsals' local Kaggle
LOCKS = ".locks"  # in it, the lock files of commands that must not run concurrently
PATH = "PYTHONPATH"
PIN = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?==[\w.+!]+")
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
OUTPUT = re.compile(r"[\w-][\w. -]*\.(csv|parquet|zip|tar\.gz)")
SHOWN = "KERNELKIT_SHOWN"  # in a session, which has no pyproject.toml, this variable holds the JSON


@dataclass(frozen=True)
class TpuSettings:
    """How a project's programs are compiled for a TPU; not at all if `command` is empty."""

    command: str = ""
    requirements: str = ""
    note: str = ""
    batch: str = ""
    before_push: bool = False


@dataclass(frozen=True)
class Project:
    """A repository: its root, the packages it bundles, and what parameter values need and allow.

    `title`: its name in `pyproject.toml`, by default the folder's; `wheels`: "name==version" of
    packages to install in a session; `offers`: {"name=value": {other name: its choices}}, checked
    at a push; `submission`: the output to submit to a competition; `beside`: the notebook whose
    neighbouring modules are bundled, if it is not the bundled one.
    """

    root: Path
    packages: tuple[str, ...] = ()
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    catalogue: str = ""
    leave_out: tuple[str, ...] = ()
    shown: Shown = field(default_factory=Shown)
    version: str = ""
    offers: dict[str, dict[str, tuple[Any, ...]]] = field(default_factory=dict)
    tpu: TpuSettings = field(default_factory=TpuSettings)
    keep_best: dict[str, Any] = field(default_factory=dict)
    wheels: tuple[str, ...] = ()
    title: str = ""
    submission: str = ""
    beside: Path | None = None
    check: str = ""  # module:function with the project's own rules, see `notebooks.rules`

    @property
    def wheels_name(self) -> str:
        """The prefix of its wheel datasets' names, in a form that Kaggle accepts."""
        slug = re.sub(r"[^a-z0-9]+", "-", (self.title or self.root.name).lower()).strip("-")
        return f"{slug[:34].rstrip('-') or 'project'}-wheels"

    @property
    def runs(self) -> Path:
        """The folder of its runs: in its root, or in its git repository's root without a
        pyproject."""
        own = (self.root / "pyproject.toml").is_file()
        return (self.root if own else repository(self.root)) / RUNS

    @property
    def local_kaggle(self) -> Path:
        """The folder of the local Kaggle, which all projects of a git repository share."""
        return repository(self.root) / RUNS / LOCAL_KAGGLE

    def package_folder(self, package: str) -> Path:
        """The folder of a package, under `src/` or the root; raises `PreflightError` if there is
        none."""
        for folder in (self.root / "src" / package, self.root / package):
            if (folder / "__init__.py").is_file():
                return folder
            if folder.with_suffix(".py").is_file():
                raise PreflightError(
                    f"{folder.with_suffix('.py')} is a module, and packages in [tool.kernelkit] "
                    f"takes folders: move it to {folder / '__init__.py'}, or put it beside the "
                    "notebook and take it out of packages"
                )
        raise PreflightError(
            f"no package {package} under {self.root / 'src'}: correct packages in "
            f"[tool.kernelkit] of {self.root / 'pyproject.toml'}"
        )

    def import_paths(self) -> list[Path]:
        """The folders that its modules are imported from: `src/`, and those that contain its
        packages."""
        folders = [self.root / "src"] if (self.root / "src").is_dir() else []
        for package in self.packages:
            with contextlib.suppress(PreflightError):  # the push reports a missing package
                folders.append(self.package_folder(package).parent)
        return list(dict.fromkeys(folders))

    def name(self, path: Path) -> str:
        """`path` relative to the root, with forward slashes."""
        path = Path(path).resolve()
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name
        )


@contextlib.contextmanager
def importable(notebook: Path) -> Iterator[None]:
    """During a block, processes started here can import the notebook's project.

    Its packages need not be installed, and take precedence over installed ones; so do modules
    beside the notebook.
    """
    before = os.environ.get(PATH)
    folder = Path(notebook).resolve().parent  # as for a notebook in Jupyter
    paths = [str(path) for path in [*find_project(notebook).import_paths(), folder]]
    os.environ[PATH] = os.pathsep.join([*paths, *([before] if before else [])])
    try:
        yield
    finally:
        del os.environ[PATH]
        if before is not None:
            os.environ[PATH] = before


def find_project(start: Path) -> Project:
    """The project of `start`: the nearest folder at or above it with a `pyproject.toml`.

    A notebook outside any project bundles no package.
    """
    start = Path(start).resolve()
    for folder in [start, *start.parents]:
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(folder, file)
    return Project(start if start.is_dir() else start.parent)


def runs_here() -> Path:
    """The folder of runs of the current folder's project, relative to the current folder."""
    return Path(os.path.relpath(find_project(Path.cwd()).runs))


def repository(folder: Path) -> Path:
    """The git repository that contains an absolute folder, or the folder itself outside git."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), folder)


def _read(root: Path, file: Path) -> Project:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:  # invalid TOML, or invalid UTF-8
        raise PreflightError(f"{file} is not TOML: {error}") from None
    kit = content.get("tool", {}).get("kernelkit", {})
    if unknown := sorted(set(kit) - set(_READERS)):
        hint = nearest(unknown[0], sorted(_READERS))
        raise PreflightError(f"{file}: [tool.kernelkit] has no {unknown[0]!r}: {hint}")
    facts = content.get("project", {})
    return Project(
        root,
        version=str(facts.get("version", "")),
        title=str(facts.get("name", "")),
        **{name: _READERS[name](file, written) for name, written in kit.items()},
    )


def shown(start: Path) -> Shown:
    """What to show of runs under `start`: as the session, its project or the current project
    says."""
    if setting := os.environ.get(SHOWN):
        return Shown.read(json.loads(setting))
    own = find_project(start).shown
    return own if own != Shown() else find_project(Path.cwd()).shown


def _shown(file: Path, written: dict[str, Any]) -> Shown:
    try:
        return Shown.read(written)
    except (ValueError, TypeError) as error:
        raise PreflightError(
            f"{file}: [[tool.kernelkit.shown.sections]] takes title, file, kind, caption: {error}"
        ) from None


def _check(file: Path, written: Any) -> str:
    if not (isinstance(written, str) and FUNCTION.fullmatch(written)):
        raise PreflightError(
            f'{file}: check in [tool.kernelkit] takes "package.module:function", not {written!r}'
        )
    return written


def _submission(file: Path, written: Any) -> str:
    if not (isinstance(written, str) and OUTPUT.fullmatch(written)):
        raise PreflightError(
            f"{file}: submission in [tool.kernelkit] takes the name of a .csv, .parquet, .zip or "
            f".tar.gz file, not {written!r}"
        )
    return written


def _needs(file: Path, written: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    if unknown := sorted(set(written) - set(NEEDS)):
        raise PreflightError(
            f"{file}: [tool.kernelkit.needs] has no {unknown[0]!r}: it takes {', '.join(NEEDS)}"
        )
    return {name: tuple(values) for name, values in written.items()}


def _wheels(file: Path, written: Any) -> tuple[str, ...]:
    pins = written if isinstance(written, list) else [written]
    wrong = [pin for pin in pins if not (isinstance(pin, str) and PIN.fullmatch(pin))]
    if wrong or pins is not written:
        first = repr(wrong[0] if wrong else written)
        instead = "an address" if re.search("[@/]", first) else first  # an address may hold a token
        takes = 'wheels in [tool.kernelkit] takes a list like ["optuna==4.6.0"], not'
        raise PreflightError(f"{file}: {takes} {instead}")
    return tuple(pins)


def _offers(file: Path, written: dict[str, Any]) -> dict[str, dict[str, tuple[Any, ...]]]:
    offers: dict[str, dict[str, tuple[Any, ...]]] = {}
    for pair, choices in written.items():
        lists = isinstance(choices, dict) and all(isinstance(c, list) for c in choices.values())
        if "=" not in pair or not lists:
            raise PreflightError(
                f"{file}: [tool.kernelkit.offers] takes lines like "
                '"data=competition" = {image_size = [192, 224]}'
            )
        offers[pair] = {name: tuple(values) for name, values in choices.items()}
    return offers


def _tpu(file: Path, written: dict[str, Any]) -> TpuSettings:
    kinds = {entry.name: type(entry.default) for entry in fields(TpuSettings)}
    for name, value in written.items():
        if type(value) is not kinds.get(name):
            takes = ", ".join(f"{name} ({kind.__name__})" for name, kind in kinds.items())
            raise PreflightError(
                f"{file}: [tool.kernelkit.tpu] takes {takes}, not {name}={value!r}"
            )
    return TpuSettings(**written)


# The readers of the keys of [tool.kernelkit]; each gets the file's path and the key's value.
_READERS: dict[str, Callable[[Path, Any], Any]] = {
    "packages": lambda _, names: tuple(names),
    "leave_out": lambda _, patterns: tuple(patterns),
    "catalogue": lambda _, command: command,
    "check": _check,
    "keep_best": lambda _, counts: counts,
    "needs": _needs,
    "offers": _offers,
    "shown": _shown,
    "submission": _submission,
    "tpu": _tpu,
    "wheels": _wheels,
}
