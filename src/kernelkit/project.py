"""The settings of a repository: `[tool.kernelkit]` in `pyproject.toml`.

[tool.kernelkit]
packages = ["mypackage"]               # bundled into a pushed notebook
sources = "blossom.settings:sources"   # what the parameters need on Kaggle, which a push attaches
keep_best = {"model.h5" = 3}           # files that only the best N runs of a sweep keep
submission = "submission.parquet"      # the output to submit, if there are several
wheels = ["optuna==4.6.0"]             # packages missing from Kaggle's image, as wheels
reserve = {tpu = 4, gpu = 10}          # hours of the week that only --force may use

# makes the inputs of a rehearsal; {NAME} is replaced by the parameter's values in the push
catalogue = "python -m blossom.catalogue {catalogue} {image_size}"

[tool.kernelkit.needs]                 # what some parameter values need
internet = ["weights=imagenet"]
download = ["weights=auto"]            # the internet, or an attached dataset, model or kernel
competition = ["data=competition"]
desk = ["data=drawn"]                  # works only locally

[tool.kernelkit.tpu]                   # `kernelkit check --tpu`: compile programs for a TPU locally
command = "python -m blossom.compile"  # reads a request, writes results (kernelkit.tpu.compiling)
requirements = "requirements-tpu.lock" # the packages of its environment, .venv-tpu
note = "3 GB"                          # shown to the user before that is created
batch = "batch_size"                   # the parameter with the batch size per replica
before_push = false                    # whether every push to a TPU is checked

[tool.kernelkit.shown]                 # what pages and summaries show first, see `shown`
score = "f1"                           # key of metrics.json that ranks the runs
parameters = ["model", "image_size"]
measures = { f1 = "F1", accuracy = "accuracy", seconds = "seconds" }
"""

import contextlib
import json
import math
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit.errors import PreflightError, nearest
from kernelkit.shown import IN_WORDS, Shown

RUNS = "runs"  # the folder of runs, in a project's root
LOCAL_KAGGLE = "local_kaggle"  # in it, the state of the rehearsals' local Kaggle
LOCKS = ".locks"  # in it, the lock files of commands that must not run concurrently
DOCTOR = Path("doctor", "doctor.json")  # in it, the results of `kernelkit doctor`
CLAIMED = Path(".kernelkit", "push.json")  # in a folder of a push's outputs, see `runs.claims`
PATH = "PYTHONPATH"
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
class HiddenSettings:
    """What the tables of a competition do not tell, to make a hidden test set from them.

    id       the column that names a row; default the first of the sample submission
    target   the columns to predict; default the others of the sample submission
    group    a column whose rows stay together, such as a patient; that of the ids for single ones
    time     a column by which the last rows are hidden; not together with a group
    columns  {column of the test table: the training table's}, "" for one that stays empty
    metric   how the answers are scored: a name as in `solutions/SLUG.toml` of a catalogue, or
             "package.module:function" of the project, called as Kaggle calls its metrics
    command  makes the hidden data itself, see `rehearsal.from_command`
    """

    id: str = ""
    target: Sequence[str] = field(default_factory=list)
    group: str = ""
    time: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    command: str = ""


@dataclass(frozen=True)
class Project:
    """A repository: its root, the packages it bundles, and what parameter values need.

    `title`: its name in `pyproject.toml`, by default the folder's; `wheels`: "name==version" of
    packages to install in a session; `attach`: folders whose contents a session finds as private
    datasets, relative to the root; `submission`: the output to submit to a competition;
    `beside`: the notebook whose neighbouring modules are bundled, if it is not the bundled one;
    `expected`: the results of runs that the doctor's table shows, see `start.expected`;
    `check` and `sources`: module:function with the project's own rules, see `notebook.rules`;
    `reserve`: hours of the week, by kind of machine, that a push leaves unless it is forced;
    `hidden`: what a competition's tables do not tell `rehearse --hidden --make`.
    """

    root: Path
    packages: Sequence[str] = field(default_factory=list)
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    catalogue: str = ""
    leave_out: Sequence[str] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)
    version: str = ""
    tpu: TpuSettings = field(default_factory=TpuSettings)
    keep_best: Mapping[str, Any] = field(default_factory=dict)
    wheels: Sequence[str] = field(default_factory=list)
    attach: Sequence[str] = field(default_factory=list)
    title: str = ""
    submission: str = ""
    beside: Path | None = None
    check: str = ""
    sources: str = ""
    expected: Sequence[Mapping[str, Any]] = field(default_factory=list)
    reserve: Mapping[str, float] = field(default_factory=dict)
    hidden: HiddenSettings = field(default_factory=HiddenSettings)

    @property
    def wheels_name(self) -> str:
        """The prefix of its wheel datasets' names, in a form that Kaggle accepts."""
        return self.dataset_name("wheels")

    def dataset_name(self, folder: str) -> str:
        """The name on Kaggle of the dataset that holds a folder of it: PROJECT-FOLDER."""
        from slugify import slugify  # not needed by most commands

        name = slugify(self.title or self.root.name, max_length=34) or "project"
        return f"{name}-{slugify(folder)}"

    @property
    def runs(self) -> Path:
        """The folder of its runs: in its root, or in its git repository's root without a
        pyproject."""
        if (self.root / "pyproject.toml").is_file():
            return self.root / RUNS
        return repository(self.root) / RUNS

    @property
    def local_kaggle(self) -> Path:
        """The folder of the local Kaggle, which all projects of a git repository share."""
        return repository(self.root) / RUNS / LOCAL_KAGGLE

    def package_folder(self, package: str) -> Path:
        """The folder of a package, under `src/` or the root; raises `PreflightError` if there is
        none. The kit's own is where it is installed."""
        if package == __package__:
            return Path(__file__).parent
        for folder in (self.root / "src" / package, self.root / package):
            if (folder / "__init__.py").is_file():
                return folder
            module = folder.with_suffix(".py")
            if module.is_file():
                raise PreflightError(
                    f"{module} is a module, and packages in [tool.kernelkit] takes folders: move "
                    f"it to {folder / '__init__.py'}, or put it beside the notebook and take it "
                    "out of packages"
                )
        raise PreflightError(
            f"no folder {package} with an __init__.py in {self.root / 'src'}: correct packages in "
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
        path = path.resolve()
        inside = path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside else path.name


@contextlib.contextmanager
def importable(notebook: Path) -> Iterator[None]:
    """During a block, processes started here can import the notebook's project.

    Its packages need not be installed, and take precedence over installed ones; so do modules
    beside the notebook.
    """
    folder = Path(notebook).resolve().parent  # as for a notebook in Jupyter
    with imports_from([*find_project(notebook).import_paths(), folder]):
        yield


@contextlib.contextmanager
def imports_from(folders: Iterable[Path]) -> Iterator[None]:
    """During a block, processes started here can import modules from these folders, first."""
    before = os.environ.get(PATH)
    given = before.split(os.pathsep) if before else []
    paths = [*folders, *(Path(path).absolute() for path in given)]  # they may work elsewhere
    os.environ[PATH] = os.pathsep.join(map(str, paths))
    try:
        yield
    finally:
        del os.environ[PATH]
        if before is not None:
            os.environ[PATH] = before


def find_project(start: Path) -> Project:
    """The project of `start`: the nearest folder at or above it with a `pyproject.toml`.

    One among a push's outputs is no project. A notebook outside any project bundles no package.
    """
    start = outside_of_outputs(Path(start).resolve())
    for folder in [start, *start.parents]:
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(folder, file)
    return Project(start if start.is_dir() else start.parent)


def outside_of_outputs(start: Path) -> Path:
    """An absolute path, or the nearest folder above it that is not among a push's outputs.

    A session may leave anything there: settings, metadata of another kernel, a ledger.
    """
    outside = start
    for folder in [start, *start.parents]:
        if (folder / CLAIMED).is_file():
            outside = folder.parent
    return outside


def python_of(root: Path) -> str:
    """The Python that runs a project's own code: that of its `.venv`, or else this one."""
    own = root / ".venv" / "bin" / "python"
    return str(own) if own.is_file() else sys.executable


def with_python(words: Sequence[str], root: Path) -> list[str]:
    """The words of a command of the settings, with the project's Python for a leading `python`."""
    if words[:1] in (["python"], ["python3"]):
        return [python_of(root), *words[1:]]
    return [*words]


def runs_here() -> Path:
    """The folder of runs of the current folder's project, relative to the current folder."""
    return Path(os.path.relpath(find_project(Path.cwd()).runs))


def repository(folder: Path) -> Path:
    """The git repository that contains an absolute folder, or the folder itself outside git."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), folder)


def shown(start: Path) -> Shown:
    """What to show of runs under `start`: as the session, its project or the current project
    says."""
    if setting := os.environ.get(SHOWN):
        return Shown.read(json.loads(setting))
    own = find_project(start).shown
    return own if own != Shown() else find_project(Path.cwd()).shown


def _read(root: Path, file: Path) -> Project:
    try:
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:  # invalid TOML, or invalid UTF-8
        raise PreflightError(f"{file} cannot be read as TOML: {error}") from None
    kit = content.get("tool", {}).get("kernelkit", {})
    facts = content.get("project", {})
    if "kernelkit" in content or not isinstance(kit, dict):
        raise PreflightError(f"{file}: write the settings below [tool.kernelkit], a table")
    settings = {key: _setting(key, value, file) for key, value in kit.items()}
    return Project(
        root,
        version=str(facts.get("version", "")),
        title=str(facts.get("name", "")),
        **settings,
    )


def _setting(key: str, value: Any, file: Path) -> Any:
    """The value of a key of [tool.kernelkit]; raises `PreflightError` for an invalid one.

    The message says what is wrong and where, but does not repeat the value: in place of a version,
    it may hold an address with a token.
    """
    if key not in _KEYS:
        hint = nearest(key, sorted(_KEYS))
        raise PreflightError(f"{file}: [tool.kernelkit] has no {key!r}: {hint}")
    takes, parse = _KEYS[key]
    try:
        return parse(value)
    except ValueError as error:
        raise PreflightError(f"{file}: {key} in [tool.kernelkit] takes {takes}; {error}") from None


def _check_type(what: str, value: object, kind: type) -> None:
    if type(value) is not kind:
        raise ValueError(f"{what} is not {IN_WORDS[kind]}")


def _text(pattern: str, value: object) -> str:
    _check_type("it", value, str)
    if not re.fullmatch(pattern, str(value)):
        raise ValueError("it is something else")
    return str(value)


def _texts(pattern: str, value: Any, what: str = "it") -> list[str]:
    _check_type(what, value, list)
    for number, text in enumerate(value, 1):
        _check_type(f"entry {number}", text, str)
        if not re.fullmatch(pattern, text):
            raise ValueError(f"entry {number} is something else")
    return list(value)


def _folders(value: Any) -> list[str]:
    for number, text in enumerate(_texts(".+", value), 1):
        path = PurePosixPath(text)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise ValueError(f"entry {number} is not a folder below the one of this file")
    return list(value)


def _command(value: object) -> str:
    text = _text(".*", value)
    shlex.split(text)  # raises ValueError("No closing quotation")
    return text


def _keep_best(value: Any) -> Mapping[str, Any]:
    _check_type("it", value, dict)
    if "" in value:
        raise ValueError("a file has no name")
    return dict(value)


def _needs(value: Any) -> Mapping[str, Sequence[str]]:
    _check_type("it", value, dict)
    for need, pairs in value.items():
        if need not in NEEDS:
            raise ValueError(f"it has no {need!r}: {nearest(need, NEEDS)}")
        _texts(r"\w+=.*", pairs, need)
    return dict(value)


def _tpu(value: Any) -> TpuSettings:
    _check_type("it", value, dict)
    kinds = {entry.name: type(entry.default) for entry in fields(TpuSettings)}
    for name, setting in value.items():
        if name not in kinds:
            raise ValueError(f"it has no {name!r}: {nearest(name, kinds)}")
        _check_type(name, setting, kinds[name])
    _command(value.get("command", ""))
    return TpuSettings(**value)


def _expected(value: Any) -> Sequence[Mapping[str, Any]]:
    _check_type("it", value, list)
    kinds = {"about": str, "measure": str, "data": str, "parameters": dict}
    for number, row in enumerate(value, 1):
        _check_type(f"row {number}", row, dict)
        for name, entry in row.items():
            if name == "least":
                if type(entry) not in (int, float):
                    raise ValueError(f"least of row {number} is not a number")
            elif name in kinds:
                _check_type(f"{name} of row {number}", entry, kinds[name])
            else:
                raise ValueError(f"it has no {name!r}: {nearest(name, [*kinds, 'least'])}")
        for name in ("about", "measure", "least"):
            if name not in row:
                raise ValueError(f"row {number} has no {name}")
    return list(value)


def _reserve(value: Any) -> Mapping[str, float]:
    _check_type("it", value, dict)
    for kind, hours in value.items():
        if kind not in COUNTED:
            raise ValueError(f"it has no {kind!r}: {nearest(kind, COUNTED)}")
        if type(hours) not in (int, float) or not 0 <= hours < math.inf:
            raise ValueError(f"{kind} is not a number of hours")
    return dict(value)


def _hidden(value: Any) -> HiddenSettings:
    _check_type("it", value, dict)
    for name, setting in value.items():
        if name not in _OF_HIDDEN:
            raise ValueError(f"it has no {name!r}: {nearest(name, _OF_HIDDEN)}")
        if name == "target":
            _texts(".+", setting, name)
        elif name == "columns":
            _check_type(name, setting, dict)
            for column, own in setting.items():
                _check_type(f"{column} of columns", own, str)
        elif name == "command":
            _command(setting)
        else:
            _check_type(name, setting, str)
    if value.get("group") and value.get("time"):
        raise ValueError("it has both group and time: name the one by which rows are hidden")
    return HiddenSettings(**value)


_OF_HIDDEN = ("id", "target", "group", "time", "columns", "metric", "command")
COUNTED = ("tpu", "gpu")  # the machines whose hours Kaggle counts
NEEDS = ("internet", "download", "competition", "desk")
# What each key takes, as an error says it, and what reads it; that raises `ValueError` with what is
# wrong.
_KEYS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "attach": ('a list of folders like ["models/exp12"]', _folders),
    "packages": ('a list like ["mypackage"]', partial(_texts, r"\w+")),
    "leave_out": ('a list like ["mypackage/desk/*"]', partial(_texts, ".+")),
    "catalogue": ("a command", _command),
    "check": (
        '"package.module:function"',
        partial(_text, r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"),
    ),
    "expected": (
        "rows with about, measure, least (a number), and maybe data and parameters",
        _expected,
    ),
    "keep_best": ('file names, like {"model.h5" = 3}', _keep_best),
    "needs": (f'{", ".join(NEEDS)}, each a list like ["weights=auto"]', _needs),
    "reserve": ("hours of tpu and gpu, like {tpu = 4, gpu = 10}", _reserve),
    "hidden": (
        "id, target (a list), group or time, columns (a table), metric and command, like "
        '{metric = "rmse"}',
        _hidden,
    ),
    "shown": (
        "score, minimize, parameters, measures, and sections with title, file, caption and a kind: "
        "figure, table, bars, matrix or photos",
        Shown.read,
    ),
    "sources": (
        '"package.module:function"',
        partial(_text, r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"),
    ),
    "submission": (
        "the name of a .csv, .parquet, .zip or .tar.gz file",
        partial(_text, r"[\w-][\w. -]*\.(csv|parquet|zip|tar\.gz)"),
    ),
    "tpu": ("command, requirements, note, batch (texts) and before_push (true or false)", _tpu),
    "wheels": (
        'a list like ["optuna==4.6.0"]',
        partial(_texts, r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?==[\w.+!]+"),
    ),
}
