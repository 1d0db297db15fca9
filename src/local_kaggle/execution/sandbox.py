"""The surroundings of one run: its folders and inputs, its variables, its command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from local_kaggle.catalogue import files_below
from local_kaggle.execution import (
    kaggle_paths,
    kaggles_modules,
    network,
    processes,
    session_python,
    walls,
)
from local_kaggle.execution.leftovers import remove, walk
from local_kaggle.limits import Kind

SourceKind = Literal["competitions", "datasets", "notebooks", "models"]
SHARED = "/kaggle/shared"  # where a competition's gateway puts files for the code that it asks
EVALUATION = "kaggle_evaluation"  # the package of a competition's gateway, among its files
FONT_LISTS = "fontlist-*.json"
FONT_SECONDS = 60.0
CLOSED = "http://127.0.0.1:9"  # the discard port: a proxy that refuses every connection
PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_INTERNET = {
    **dict.fromkeys(PROXIES, CLOSED),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1"),
    "PIP_NO_INDEX": "1",
}
"""The variables that stand for a closed network where there are no walls."""


IOPUB_SECONDS = 120  # for the output of a cell that has ended
PAPERMILL = f"""\
import functools
from jupyter_client.channels import AsyncZMQSocketChannel
from papermill import cli
send = AsyncZMQSocketChannel.send
def send_and_stay_awake(channel, message):
    send(channel, message)
    getattr(channel.socket, "_schedule_remaining_events", int)()
AsyncZMQSocketChannel.send = send_and_stay_awake
cli.execute_notebook = functools.partial(cli.execute_notebook, iopub_timeout={IOPUB_SECONDS})
cli.papermill()
"""
"""Papermill's command, which waits longer for the output of a cell that has ended: its own limit of
4 seconds, which no option changes, is too short for much output on a busy machine. And it misses
no end of a cell: what nbclient sends to an Output widget of ipywidgets swallowed the news of it now
and then, and the session waited until its time limit."""


class Sandbox:
    """One session's inputs `sources`, its folders below `folder`, and a scratch folder.

    `image` is the folder of the Python environment, on top of which the session has one of its own
    in `environment_folder`. `reached_by` are the variables by which the internet is reached, if
    `internet` is on. `builder` names the program that builds walls
    around the session, and is empty where none can: behind walls the folders appear at Kaggle's own
    paths, without walls at their own. `gateway` is the folder of a competition's gateway that asks
    this session, or that this session is: its files `hosts` and `shared` are seen by both, in one
    network that is closed already.
    """

    def __init__(
        self,
        folder: Path,
        image: Path,
        sources: Sequence[MountedSource] = (),
        *,
        runs_on: Kind = "cpu",
        internet: bool = False,
        reached_by: Mapping[str, str] = MappingProxyType({}),
        gateway: Path | None = None,
    ) -> None:
        self.folder = folder
        self.image = image
        self.sources = sources
        self.runs_on = runs_on
        self.internet = internet
        self.reached_by = reached_by if internet else {}
        self.gateway = gateway
        self.builder = walls.builder()
        self.scratch = Path(tempfile.mkdtemp(prefix="kaggle-"))  # a short path, for sockets
        self.home = self.scratch / "home"
        self.environment_folder = self.scratch / "python"
        self.input = folder / "input"
        self.working = folder / "working"
        self.source = folder / "src"  # of what runs, and of the notebook as it was executed
        self.places = {
            "/kaggle/input": self.input,
            "/kaggle/working": self.working,
            "/kaggle/src": self.source,
            "/kaggle/temp": self.scratch / "temp",
            "/kaggle/tmp": self.scratch / "tmp",
        }
        for path in (*self.places.values(), self.home):
            path.mkdir(parents=True, exist_ok=True)
        self.fonts = self.scratch / "matplotlib"
        self._known_fonts = image.parent / "matplotlib"
        _take_over(self._known_fonts, self.fonts)
        session_python.make(self.environment_folder, image)
        if not self.builder:
            session_python.refuse_installers(self.environment_folder)

    def inside(self, place: str) -> str:
        """One of `places` as the session sees it."""
        return place if self.builder else str(self.places[place])

    def discard(self) -> None:
        """Remove home, temporary files and the mounts; outputs and log stay."""
        if list(self.fonts.glob(FONT_LISTS)) and not list(self._known_fonts.glob("*")):
            _list_fonts(self.image, self.scratch / "fonts", self._known_fonts)
        remove(self.scratch)
        unmount(self.input)

    def enclosed(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` with the inputs, behind walls where they hold."""
        inputs = mount(self.sources, self.input, walled=bool(self.builder))
        if not self.builder:
            return list(command)
        mounts: walls.Mounts = {place: ("bind", folder) for place, folder in self.places.items()}
        mounts |= {walls.HOME: ("bind", self.home), "/tmp": ("bind", self.scratch / "tmp")}  # noqa: S108
        read_only = {str(folder): folder for folder in walls.python_folders(self.image)} | inputs
        read_only |= network.certificates(self.reached_by)
        mounts |= {place: ("ro-bind", folder) for place, folder in read_only.items()}
        for own in (self.fonts, self.environment_folder):
            mounts[str(own)] = "bind", own
        if self.gateway:
            how = "bind" if self.gateway == self.folder else "ro-bind"
            mounts[SHARED] = how, self.gateway / "shared"
            mounts["/etc/hosts"] = "ro-bind", self.gateway / "hosts"
        internet = self.internet or self.gateway is not None
        root = self.scratch / "root"
        return walls.enclosed(
            command,
            mounts,
            root,
            self.builder,
            internet=internet,
            side_by_side=self.gateway is not None,
        )

    def environment(self) -> dict[str, str]:
        """The whole environment of the run: Kaggle's variables and nothing of the host's, save the
        secrets that are meant for a rehearsal.

        `KERNELKIT_INPUT_ROOT` says where /kaggle/input is; without walls it cannot be there, and
        code that names the path itself is led there by `kaggle_paths`. A competition's
        `kaggle_evaluation` can be imported, as on Kaggle. On a TPU JAX sees eight devices.
        """
        own = self.environment_folder
        prefixes = (own, sys.prefix, sys.base_prefix)  # the session's kernel comes first
        variables = {
            "PATH": f"{own}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": walls.HOME if self.builder else str(self.home),
            "TMPDIR": self.inside("/kaggle/tmp"),
            processes.VARIABLE: str(self.scratch),
            "LANG": "C.UTF-8",
            "KAGGLE_KERNEL_RUN_TYPE": "Batch",
            "KERNELKIT_INPUT_ROOT": self.inside("/kaggle/input"),
            "JUPYTER_PATH": ":".join(f"{prefix}/share/jupyter" for prefix in prefixes),
            "MPLCONFIGDIR": str(self.fonts),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PYTHONUNBUFFERED": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        if not self.builder:
            mounts = {place: self.scratch / Path(place).name for place in self.places}
            for place, link in mounts.items():  # the root's own path may hold spaces
                if not link.exists():
                    link.symlink_to(self.places[place])
            variables[kaggle_paths.MOUNTS] = json.dumps(mounts, default=str)
            variables |= {} if self.internet else NO_INTERNET
            variables["PIP_REQUIRE_VIRTUALENV"] = "1"  # another Python's pip refuses to install
        secrets = kaggles_modules.secrets_outside(self.image.parent)
        if secrets:
            variables[kaggles_modules.SECRETS] = json.dumps(secrets)
        if "LD_LIBRARY_PATH" in os.environ:
            variables["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        variables |= self.reached_by
        if self.internet:
            variables["KAGGLE_REHEARSAL_INTERNET"] = "on"  # whatever this machine's network does
        if self.runs_on != "gpu":
            variables["CUDA_VISIBLE_DEVICES"] = ""  # hides a GPU, and code that asks finds none
        if self.runs_on != "cpu":
            variables["KAGGLE_REHEARSAL"] = self.runs_on
        if self.runs_on == "tpu":
            variables["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
            variables["JAX_PLATFORMS"] = "cpu"
        for source in self.sources:
            if source.kind == "competitions" and (source.folder / EVALUATION).is_dir():
                variables["PYTHONPATH"] = f"{self.inside('/kaggle/input')}/{source.place}"
        return variables


def command(kernel_type: str, box: Sandbox) -> list[str]:
    """The command that runs `source.ipynb` or `script.py` of the session.

    Papermill without a kernel's name, as Kaggle does it: a notebook has to bring its own.
    """
    source = box.inside("/kaggle/src")
    python = str(session_python.interpreter(box.environment_folder))
    if kernel_type != "notebook":
        # By runpy, which compiles it as an import does: `kaggle_paths` sees it.
        run = f"import runpy; runpy.run_path({source + '/script.py'!r}, run_name='__main__')"
        return [python, "-c", run]
    return [
        python,
        "-c",
        PAPERMILL,
        f"{source}/source.ipynb",
        f"{source}/executed.ipynb",
        "--no-progress-bar",
        "--autosave-cell-every",
        "0",
        "--log-level",
        "WARNING",
        "--stdout-file",
        "/dev/stdout",
        "--stderr-file",
        "/dev/stderr",
    ]


@dataclass(frozen=True)
class MountedSource:
    """One input of a version: its kind as its place spells it, its reference, its files."""

    kind: SourceKind
    reference: str
    folder: Path

    @property
    def place(self) -> str:
        """Where it is mounted below the input root."""
        return f"{self.kind}/{self.reference}"

    def lead_from_older_place(self, root: Path) -> None:
        """Link `<slug>`, where Kaggle mounted it before and notebooks still look, to its place."""
        levels = 2 if self.kind == "models" else self.reference.count("/") + 1
        parts = self.reference.split("/")[:levels]
        link = root / parts[-1]
        if not (link.exists() or link.is_symlink()):
            link.symlink_to("/".join((self.kind, *parts)))


def mount(sources: Iterable[MountedSource], root: Path, *, walled: bool = False) -> dict[str, Path]:
    """Lay the sources out below `root`; what of the host walls bind, by the paths inside.

    Without walls every file is a link, and the folders are read-only, which stops everyone but
    root. Behind them only a source with links in it, such as data that lies elsewhere on the host,
    is laid out so, and what its links lead to appears at its own path: a folder for a link to a
    folder, the file alone for a link to a file.
    """
    root.mkdir(parents=True, exist_ok=True)
    folders = {"/kaggle/input": root}
    for source in sources:
        place = root / source.place
        if walled and not any(entry.is_symlink() for entry in walk(source.folder)):
            place.mkdir(parents=True, exist_ok=True)
            folders[f"/kaggle/input/{source.place}"] = source.folder.resolve()
        else:
            link_files(source.folder, place)
            folders |= {str(shown): shown for shown in _led_to(source.folder)}
        source.lead_from_older_place(root)
    for folder in [] if walled else _folders(root):
        folder.chmod(0o555)
    return folders


def _led_to(source: Path) -> set[Path]:
    """A source's folder, and what the links in it lead to: a folder, or a file alone."""
    shown = {source.resolve()}
    folders = [source.resolve()]
    while folders:
        for entry in walk(folders.pop()):
            if not entry.is_symlink():
                continue
            target = Path(os.path.realpath(entry.path))  # which survives links in a circle
            if target.is_dir() and target not in shown:
                folders.append(target)
            if target.is_dir() or target.is_file():
                shown.add(target)
    return shown


def _list_fonts(image: Path, own: Path, place: Path) -> None:
    """Let matplotlib list the fonts, which takes seconds, once for all later sessions.

    The list that a session made is not theirs to read: a wrong one would break their figures. `own`
    is a folder for this alone. Where matplotlib fails, each session makes its own list again.
    """
    own.mkdir()
    environment = {"HOME": str(own), "MPLCONFIGDIR": str(own), "PATH": os.defpath}
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [str(image / "bin/python"), "-c", "import matplotlib.font_manager"],
            cwd=own,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FONT_SECONDS,
        )
    _take_over(own, place)


def _take_over(origin: Path, place: Path) -> None:
    """Copy matplotlib's lists of fonts: each session has a copy, and what it writes stays there."""
    place.mkdir(exist_ok=True)
    for path in origin.glob(FONT_LISTS) if origin.is_dir() else ():
        part = place / f"{path.name}.part"
        part.write_bytes(path.read_bytes())
        part.replace(place / path.name)


def unmount(root: Path) -> None:
    """Remove the mounts: folders and links, never what the links lead to."""
    remove(root)


def link_files(origin: Path, place: Path) -> None:
    """Make the folders of `origin` at `place`, each file in them a link to the original.

    Folders are real because `os.walk` and `rglob`, which notebooks list their inputs with, do not
    enter linked ones.
    """
    place.mkdir(parents=True, exist_ok=True)
    for name, path in files_below(origin):
        link = place / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(path.resolve())


def _folders(root: Path) -> list[Path]:
    below = [Path(entry.path) for entry in walk(root) if entry.is_dir(follow_symlinks=False)]
    return [root, *below]
