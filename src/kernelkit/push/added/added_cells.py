"""The cells that a push adds to a notebook: what runs in its session besides the notebook itself.

The first one has the bundle's facts, in sight of a reader. Folded ones follow: for the manifest,
the wheels, each folder of files, and their check; after the notebook's own cells comes one that
ends the manifest. They are sources here, of which `bundle.build` makes cells. The same input gives
the same ones. A rehearsal leaves an example of them in `.kernelkit/pushed.ipynb` of its folder.
"""

import base64
import json
import pprint
import textwrap
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import kernelkit
from kernelkit.notebook import document
from kernelkit.notebook.files.modules import File
from kernelkit.project import Project
from kernelkit.push.added import installing
from kernelkit.session import accelerator_watch, manifest, places, recording

LINE = 96  # characters in a line of what is compressed
FIRST = "# Pushed by kernelkit."  # the beginning of the first cell

Values = Mapping[str, Any]  # parameters, facts or other contents by name


def added_cells(
    facts: Values,
    files: Sequence[File],
    project: Project,
    beside: Sequence[str],
    accelerator: str,
    brought: Values,
) -> Iterator[str]:
    """The sources of the cells that come before the notebook's own.

    facts        the value of BUNDLE in the first cell
    beside       the paths of those `files` that cells start in the session's folder
    accelerator  the kind of the machine
    brought      as `build` takes it

    The first one puts the version, the commit, the minutes of the session and the time when it
    began (time.monotonic(), which all processes of a machine share) into the environment.
    """
    commit = facts["git"]["commit"]
    environment = {
        "KERNELKIT_SESSION_MINUTES": facts["session_minutes"],
        "KERNELKIT_PROJECT_VERSION": facts["version"],
        "KERNELKIT_GIT_SHA": commit,
        "KERNELKIT_GIT_DIRTY": commit and str(facts["git"]["dirty"]).lower(),
    }
    variables = {name: str(value) for name, value in environment.items() if value}
    literals = (pprint.pformat(part, width=96, sort_dicts=False) for part in (facts, variables))
    yield _HEAD.format(FIRST, *literals)
    yield _packed(manifest, "begin(os.getcwd(), PUSH)")
    if brought:
        yield _BROUGHT.format(pprint.pformat(dict(brought), width=96))
    yield _TELLS.format(recording=_literal_of(recording), folder=places.FOLDER)
    if accelerator != "cpu":
        source = _literal_of(accelerator_watch)
        place = f"{places.FOLDER}/{places.MACHINE}"
        yield _WATCHES.format(kind=accelerator, watching=source, file=place)
    if project.wheels:
        arguments = json.dumps([list(project.wheels), project.wheels_name])
        call = f"_added = install_wheels(*{arguments})"
        words = 'print("wheels:", *(_added or ["all installed already"]))'
        yield _packed(installing, f"{call}\n{words}")
    # Papermill writes the whole notebook before and after each cell: with one cell per file of a
    # sweep's bundle, a session started ten seconds later.
    folders: dict[str, list[str]] = {}
    kit = [file for file in files if is_kits_own(file.path)]
    if kit:
        yield _compressed(kit)
    for file in files:
        if is_kits_own(file.path):
            continue
        path = json.dumps(file.path, ensure_ascii=False)  # a JSON string is also a Python string
        call = f'_carry(\n    {path},\n    "{file.sha256}",\n    {document.literal(file.text)},\n)'
        folder = file.path.rpartition("/")[0]
        folders.setdefault(folder, []).append(call)
    for folder, calls in folders.items():
        heading = json.dumps(folder, ensure_ascii=False)[1:-1]  # in one line
        yield "\n\n".join([f"# {heading}", *calls])
    if files:
        yield _CHECK.format(names=json.dumps(facts["packages"]))
    if beside:
        yield _BESIDE.format(names=json.dumps(beside, ensure_ascii=False))


def is_kits_own(path: str) -> bool:
    """Whether a bundled file is part of the kit itself."""
    return path.startswith(f"{kernelkit.__name__}/")


def _compressed(kit: Sequence[File]) -> str:
    """A cell that writes the kit's files."""
    listed = json.dumps([[file.path, file.sha256, file.text] for file in kit])
    encoded = base64.b64encode(zlib.compress(listed.encode(), 9)).decode()
    return _KIT.format("\n".join(textwrap.wrap(encoded, LINE)))


def _packed(module: Any, call: str) -> str:
    """A cell with the source of a module, and a call of it."""
    source = Path(module.__file__).read_text("utf-8").rstrip("\n")
    return f"{source}\n\n\n{call}"


def _literal_of(module: Any) -> str:
    """The source of a module as a literal."""
    return document.literal(Path(module.__file__).read_text("utf-8"))


_HEAD = """\
{} The folded cells below contain the packages that this notebook
# imports, as text; they are written to a temporary folder and imported from there.
BUNDLE = {}

PUSH = ""  # the number of this push, also in its log and in the manifest of its files

import hashlib, importlib, os, pathlib, sys, tempfile, time

print("bundle:", BUNDLE["notebook"], *BUNDLE["packages"], BUNDLE["content"][:19])
print("push:", PUSH)
os.environ.update({})
os.environ.setdefault("KERNELKIT_SESSION_BEGAN", str(time.monotonic()))

_carried = pathlib.Path(tempfile.mkdtemp(prefix="carried-"))


def _carry(path, sha256, text):
    data = text.encode()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"{{path}} is not what was pushed: its cell was edited")
    target = _carried / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
"""

_BROUGHT = """\
# What these datasets hold is known by the name of a file in each. After an upload, Kaggle may mount
# the version before it for a while.
_inputs = pathlib.Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
for _slug, _sums in {}.items():
    _places = (f"datasets/*/{{_slug}}/{{_sums}}", f"{{_slug}}/{{_sums}}")
    if not any([*_inputs.glob(_place)] for _place in _places):
        raise RuntimeError(
            f"{{_slug}} is not mounted in the version that was pushed: push again in a few minutes"
        )"""

_KIT = """\
# kernelkit, which makes the runs of this sweep. It is compressed to stay below Kaggle's limit.
import base64, json, zlib

_KIT = \"\"\"
{}
\"\"\"
for _file in json.loads(zlib.decompress(base64.b64decode(_KIT))):
    _carry(*_file)"""

_TELLS = """\
# What the cells show is kept in {folder}, for the report.
import types

import kernelkit_session

_recording = types.ModuleType("kernelkit_recording")
if kernelkit_session.records:
    try:
        exec({recording}, _recording.__dict__)
        kernelkit_session.before_end.append(_recording.begin(os.path.abspath("{folder}")))
    except Exception as _error:
        print(f"the report will lack what cells show: {{_error!r}}", file=sys.stderr)"""

_WATCHES = """\
# A process looks once a minute whether one of this session uses the {kind} that was asked for. In a
# rehearsal, CPU devices stand in for it.
_watching = types.ModuleType("kernelkit_watching")
_source = {watching}
if kernelkit_session.records and "LOCAL_KAGGLE_SESSION" not in os.environ:
    try:
        exec(_source, _watching.__dict__)
        _write = _watching.begin("{kind}", os.path.abspath("{file}"), _source)
        kernelkit_session.before_end.append(_write)
    except Exception as _error:
        print(f"whether the {kind} is used will not be told: {{_error!r}}", file=sys.stderr)"""

LAST = """\
# Write name, size and SHA-256 of each output file, so that the download can be verified.
import kernelkit_session

kernelkit_session.tidy()
kernelkit_session.end()"""

_CHECK = """\
# The packages must come from this notebook. None is imported yet: when, and with which environment,
# is for the notebook's own cells to say.
# As at home, a file that the session writes into its own folder comes before them.
sys.path[:0] = [os.getcwd(), str(_carried)]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_carried), *filter(None, [os.environ.get("PYTHONPATH")])]
)
importlib.invalidate_caches()
import importlib.util

for _name in {names}:
    _spec = importlib.util.find_spec(_name)
    _places = [_spec.origin, *(_spec.submodule_search_locations or ())] if _spec else []
    _places = [pathlib.Path(_place).resolve() for _place in _places if _place]
    if not any(_place.is_relative_to(_carried.resolve()) for _place in _places):
        raise RuntimeError(f"{{_name}} would come from {{_places}}, not from this notebook")"""

_BESIDE = """\
# Cells start these files in this folder. After the last cell, those that are unchanged are removed.
import atexit

_beside = {{_path: (_carried / _path).read_bytes() for _path in {names}}}
for _path, _data in _beside.items():
    pathlib.Path(_path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(_path).write_bytes(_data)


def _tidy(beside=_beside, folder=pathlib.Path.cwd()):
    for path, data in beside.items():
        try:
            if (folder / path).read_bytes() == data:
                (folder / path).unlink()
        except OSError:
            pass


import kernelkit_session

kernelkit_session.tidy = _tidy  # for a notebook's last cell
if "get_ipython" not in globals() and __name__ != "__mp_main__":
    atexit.register(_tidy)"""
