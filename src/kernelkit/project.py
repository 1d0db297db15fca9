"""The settings of a repository: `[tool.kernelkit]` in `pyproject.toml`.

[tool.kernelkit]
packages = ["mypackage"]               # bundled into a pushed notebook
leave_out = ["mypackage/desk/*"]       # files of these that are not
attach = ["models/exp12"]              # folders that a session finds as private datasets
check = "blossom.settings:check"       # the project's own rules for parameters
sources = "blossom.settings:sources"   # what the parameters need on Kaggle, which a push attaches
keep_best = {"model.h5" = 3}           # files that only the best N runs of a sweep keep
submission = "submission.parquet"      # the output to submit, if there are several
wheels = ["optuna==4.6.0"]             # packages missing from Kaggle's image, as wheels
reserve = {tpu = 4, gpu = 10}          # hours of the week that only --force may use
hidden = {metric = "rmse"}             # what tables do not tell `rehearse --hidden --make`

# makes the inputs of a rehearsal; {NAME} is replaced by the parameter's values in the push
catalogue = "python -m blossom.catalogue {catalogue} {image_size}"

[tool.kernelkit.needs]                 # what some parameter values need
internet = ["weights=imagenet"]
download = ["weights=auto"]            # the internet, or an attached dataset, model or kernel
competition = ["data=competition"]
desk = ["data=drawn"]                  # works only locally

[tool.kernelkit.tpu]                   # `kernelkit check --tpu`: compile programs for a TPU locally
command = "python -m blossom.compile"  # as kernelkit.tpu.compiler.compiling says
requirements = "requirements-tpu.lock" # the packages of its environment, .venv-tpu
note = "3 GB"                          # shown to the user before that is created
batch = "batch_size"                   # the parameter with the batch size per replica
before_push = false                    # whether every push to a TPU is checked

[tool.kernelkit.shown]                 # what pages and summaries show first, see `kernelkit.shown`
score = "f1"                           # key of metrics.json that ranks the runs
minimize = false                       # whether a lower one is better
parameters = ["model", "image_size"]
measures = { f1 = "F1", accuracy = "accuracy", seconds = "seconds" }
"""

import contextlib
import json
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit import typed
from kernelkit.errors import PreflightError, nearest
from kernelkit.shown import Shown
from kernelkit.typed import declared

RUNS = "runs"  # the folder of runs, in a project's root
KAGGLE = "PROD"  # as Kaggle's clients call their own server, where the environment names one
LOCAL_KAGGLE = "local_kaggle"  # in it, the state of the rehearsals' local Kaggle
LOCKS = ".locks"  # in it, the lock files of commands that must not run concurrently
DOCTOR = Path("doctor", "doctor.json")  # in it, the results of `kernelkit doctor`
VERSIONS = "packages.{}"  # among these, of a kind of machine: its packages' versions, as JSON
CLAIMED = Path(".kernelkit", "push.json")  # in a folder of a push's outputs, see `runs.claims`
SHOWN = "KERNELKIT_SHOWN"  # in a session, which has no pyproject.toml, this variable holds the JSON

COUNTED = ("tpu", "gpu")  # the machines whose hours Kaggle counts
NEEDS = ("internet", "download", "competition", "desk")
FUNCTION = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"


def _check_hours(reserve: Mapping[str, float]) -> None:
    for kind, hours in reserve.items():
        if hours < 0:
            raise ValueError(f"{kind} is not a number of hours")


def check_keep_best(keep_best: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless it is {a file's name without a folder: the number of runs}."""
    for name, most in keep_best.items():
        is_name = isinstance(name, str) and name != "" and PurePosixPath(name).name == name
        if not is_name or type(most) is not int or most < 1:
            raise ValueError(
                f"keep_best takes names of files, each with a number of runs, like "
                f"model.h5 and 3, not {name!r} with {most!r}"
            )


def _check_folders(attach: Sequence[str]) -> None:
    for number, text in enumerate(attach, 1):
        path = PurePosixPath(text)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise ValueError(f"entry {number} is not a folder below the one of this file")


@dataclass(frozen=True)
class TpuSettings:
    """How a project's programs are compiled for a TPU; not at all if `command` is empty."""

    command: str = declared("", check=shlex.split)  # raises ValueError("No closing quotation")
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
    command  makes the hidden data itself, see `hidden.data.from_command`
    """

    id: str = ""
    target: Sequence[str] = declared(list, each=".+")
    group: str = ""
    time: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    command: str = declared("", check=shlex.split)

    def __post_init__(self) -> None:
        if self.group and self.time:
            raise ValueError("it has both group and time: name the one by which rows are hidden")


@dataclass(frozen=True)
class Project:
    """A repository, and the settings in its `pyproject.toml`.

    root        the folder with that file, or that of a notebook outside any project
    packages    the packages that it bundles
    needs       {what a parameter's value needs, one of `NEEDS`: ["parameter=value"]}
    catalogue   the command that fills the catalogue of a rehearsal's local Kaggle
    leave_out   patterns of files of its packages that are not bundled
    shown       what pages and summaries show first of its runs
    version     its version, as `[project]` has it
    tpu         how its programs are compiled for a TPU
    keep_best   {file name: of how many runs of a sweep it is kept}
    wheels      "name==version" of packages to install in a session
    attach      folders whose contents a session finds as private datasets, relative to the root
    title       its name in `[project]`; default the folder's
    submission  the output to submit to a competition
    swept_notebook
                the notebook of a sweep on Kaggle, whose neighbouring modules are bundled with the
                one that runs the sweep; None for other pushes
    check       module:function with the project's own rules, see `notebook.project_rules.rules`
    sources     module:function that says what a run reads of Kaggle, which a push attaches
    reserve     hours of the week, by kind of machine, that a push leaves unless it is forced
    hidden      what a competition's tables do not tell `rehearse --hidden --make`
    """

    root: Path
    packages: Sequence[str] = declared(list, takes='a list like ["mypackage"]', each=r"\w+")
    needs: Mapping[str, Sequence[str]] = declared(
        dict,
        takes=f'{", ".join(NEEDS)}, each a list like ["weights=auto"]',
        keys=NEEDS,
        each=r"\w+=.*",
    )
    catalogue: str = declared("", takes="a command", check=shlex.split)
    leave_out: Sequence[str] = declared(list, takes='a list like ["mypackage/desk/*"]', each=".+")
    shown: Shown = declared(
        Shown,
        takes="score, minimize, parameters, measures, and sections with title, file, caption and a "
        "kind: figure, table, bars, matrix or photos",
    )
    version: str = ""
    tpu: TpuSettings = declared(
        TpuSettings,
        takes="command, requirements, note, batch (texts) and before_push (true or false)",
    )
    keep_best: Mapping[str, Any] = declared(
        dict, takes='file names, like {"model.h5" = 3}', check=check_keep_best
    )
    wheels: Sequence[str] = declared(
        list,
        takes='a list like ["optuna==4.6.0"]',
        each=r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?==[\w.+!]+",
    )
    attach: Sequence[str] = declared(
        list, takes='a list of folders like ["models/exp12"]', each=".+", check=_check_folders
    )
    title: str = ""
    submission: str = declared(
        "",
        takes="the name of a .csv, .parquet, .zip or .tar.gz file",
        each=r"[\w-][\w. -]*\.(csv|parquet|zip|tar\.gz)",
    )
    swept_notebook: Path | None = None
    check: str = declared("", takes='"package.module:function"', each=FUNCTION)
    sources: str = declared("", takes='"package.module:function"', each=FUNCTION)
    reserve: Mapping[str, float] = declared(
        dict,
        takes="hours of tpu and gpu, like {tpu = 4, gpu = 10}",
        keys=COUNTED,
        check=_check_hours,
    )
    hidden: HiddenSettings = declared(
        HiddenSettings,
        takes="id, target (a list), group or time, columns (a table), metric and command, like "
        '{metric = "rmse"}',
    )

    @property
    def wheels_name(self) -> str:
        """The prefix of its wheel datasets' names, in a form that Kaggle accepts."""
        return self.dataset_name("wheels")

    def dataset_name(self, folder: str) -> str:
        """The name on Kaggle of the dataset that holds a folder of it: PROJECT-FOLDER."""
        from slugify import slugify  # not needed by most commands

        name = slugify(self.title or self.root.name, max_length=34) or "project"
        return f"{name}-{slugify(folder)}"

    @cached_property
    def repository(self) -> Path:
        """The root of its git repository, or its own outside git; absolute."""
        return repository(self.root.resolve())

    @cached_property
    def runs(self) -> Path:
        """The folder of its runs: in its root, or in its git repository's root without a
        pyproject."""
        if self.is_configured:
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

    @property
    def is_configured(self) -> bool:
        """Whether it has a `pyproject.toml`, and is no notebook outside any project."""
        return (self.root / "pyproject.toml").is_file()

    def name(self, path: Path) -> str:
        """`path` relative to the root, with forward slashes."""
        path = path.resolve()
        inside = path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside else path.name


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


def runs_here() -> Path:
    """The folder of runs of the current folder's project, relative to the current folder."""
    return Path(os.path.relpath(find_project(Path.cwd()).runs))


def is_led_elsewhere() -> bool:
    """Whether the environment leads Kaggle's clients to another server than Kaggle's."""
    return os.environ.get("KAGGLE_API_ENVIRONMENT", KAGGLE) != KAGGLE


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
    takes = {each.name: each.metadata["takes"] for each in fields(Project) if each.metadata}
    if key not in takes:
        raise PreflightError(
            f"{file}: [tool.kernelkit] has no {key!r}: {nearest(key, sorted(takes))}"
        )
    try:
        return typed.of_field(Project, key, value)
    except ValueError as error:
        raise PreflightError(
            f"{file}: {key} in [tool.kernelkit] takes {takes[key]}; {error}"
        ) from None
