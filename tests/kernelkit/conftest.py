"""A small repository to push from, a package index, and a pace at which a test can wait."""

import contextlib
import io
import itertools
import json
import os
import zipfile

import pytest

from kernelkit import files, project
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.timing import PollPolicy, Timing
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.retries import Clock, Retries
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.kaggle.transport.connection import Connection
from kernelkit.kaggle.transport.time_limits import Timeouts
from kernelkit.push.known.ledger import Ledger
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push_kernel
from kernelkit.push.resume import resume_push
from kernelkit.runs.run_folder import PART
from kernelkit.shown import Shown
from kernelkit.terminal.events import Events
from local_kaggle.competitions import competitions
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

SHOWN = Shown(
    "macro_f1",
    ("backbone", "image_size"),
    {"macro_f1": "macro F1", "accuracy": "accuracy", "seconds": "seconds"},
)

PARAMETERS = """\
files = 3  # >= 0: how many files to leave
accelerator = "auto"  # auto | tpu | gpu | cpu: what to run on
fail = False  # whether to end in an error
"""

TRAIN = """\
import json, os, pathlib
from blossom import petals
print("working on", accelerator)
for number in range(files):
    folder = pathlib.Path("deep" if number % 2 else ".")
    folder.mkdir(exist_ok=True)
    (folder / f"{number}.bin").write_bytes(bytes([number % 256]) * (500 * number + 1))
device = {"kind": accelerator, "name": "stand-in", "replicas": 8, "rehearsal": True}
pathlib.Path("metrics.json").write_text(json.dumps({"macro_f1": petals.F1, "device": device}))
pathlib.Path("submission.csv").write_text("id,label\\na,0\\nb,1\\n")
"""

FAIL = """\
def wither(fail):
    if fail:
        raise ValueError("withered")
wither(fail)
"""


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """What pages and lines show of a run, whatever the present folder's project says."""
    monkeypatch.setenv(project.SHOWN, SHOWN.as_json())


def code(source, tags=()):
    return {
        "cell_type": "code",
        "id": "cell",
        "metadata": {"tags": list(tags)},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


class Repository:
    """A repository with one package, one notebook and one kernel."""

    def __init__(self, root):
        self.root = root
        self.runs = root / "runs"
        self.metadata = root / "kernel-metadata.json"
        self.notebook = root / "notebooks" / "train.ipynb"
        package = root / "src" / "blossom"
        package.mkdir(parents=True)
        self.notebook.parent.mkdir()
        (root / "pyproject.toml").write_text(
            '[project]\nversion = "1.2"\n\n[tool.kernelkit]\npackages = ["blossom"]\n'
        )
        (package / "__init__.py").write_text('"""Blossom."""\n')
        (package / "petals.py").write_text("from __future__ import annotations\n\nF1 = 0.75\n")
        self.package = package
        self.cells(code(PARAMETERS, ["parameters"]), code(TRAIN), code(FAIL))
        self.values = {
            "id": "INSERT_USERNAME/blossom-train",
            "title": "Blossom train",
            "code_file": "notebooks/train.ipynb",
            "language": "python",
            "kernel_type": "notebook",
            "is_private": True,
            "enable_internet": False,
            "enable_tpu": True,
            "machine_shape": "TpuV5E8",
        }
        self.describe()

    def cells(self, *cells, **metadata):
        """Write the notebook anew."""
        spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = {"cells": list(cells), "metadata": spec | metadata}
        self.notebook.write_text(json.dumps(notebook | {"nbformat": 4, "nbformat_minor": 5}))

    def sources(self, *sources, parameters=""):
        """Write the notebook anew, with these code cells, after one of parameters if given."""
        first = [code(parameters, ["parameters"])] if parameters else []
        self.cells(*first, *map(code, sources))

    def describe(self, **changes):
        """Write the metadata anew with these changes; None takes a key out."""
        self.values |= changes
        kept = {name: value for name, value in self.values.items() if value is not None}
        self.metadata.write_text(json.dumps(kept))

    def configure(self, text):
        """Add to the project's settings."""
        with (self.root / "pyproject.toml").open("a") as file:
            file.write(text)

    def on_cpu(self):
        """Ask for a machine without an accelerator."""
        self.describe(enable_tpu=False, machine_shape=None)

    def pushes(self):
        """The lines of the ledger."""
        return Ledger(self.runs).pushes()

    def states(self):
        """The states of the pushes in the ledger."""
        return [push.state for push in self.pushes()]

    def plan(self, *parameters, **wishes):
        """The plan of a push of it."""
        return plan_push(PushRequest.of(None, parameters, metadata=self.metadata, **wishes))

    def push(self, *parameters, **options):
        """Push it; returns what it returned. What it said is in `message`."""
        return self.run(push_kernel, None, parameters, metadata=self.metadata, **options)

    def resume(self, reference="last", **options):
        """Resume a push; returns what it returned. What it said is in `message`."""
        return self.run(resume_push, reference, **options)

    @staticmethod
    def assert_whole(folder, files):
        """Assert that a folder has what a run with so many files leaves, byte for byte."""
        for number in range(files):
            name = f"deep/{number}.bin" if number % 2 else f"{number}.bin"
            assert (folder / name).read_bytes() == bytes([number]) * (500 * number + 1)

    def run(self, command, *arguments, **options):
        """Call one of the kit's commands; returns what it returned."""
        self.stream = io.StringIO()
        return command(*arguments, **{"timing": TIMING, "stream": self.stream} | options)

    @property
    def message(self):
        """What the last command said."""
        return self.stream.getvalue()

    def events(self, name=""):
        """What the last command said `as_json`: these events, or all."""
        events = map(json.loads, self.message.splitlines())
        return [event for event in events if name in ("", event["event"])]


TIMING = Timing(
    clock=Clock(speed=50),
    timeouts=Timeouts(connect=10.0, read=10.0, authenticate=10.0),  # of a machine under load
    retries=Retries(first=1.0, longest=5.0, clock=Clock(speed=50)),
    settle=(5.0, 10.0, 20.0),
    patience=PollPolicy(poll=5.0, slow_poll=5.0, unproved=100.0),
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The repository, which is the working directory."""
    made = Repository(tmp_path / "repository")
    monkeypatch.chdir(made.root)
    return made


@pytest.fixture
def printed():
    """Writes what papermill has saved of an active run's notebook that printed these texts."""

    def printed(folder, *texts):
        outputs = [{"output_type": "stream", "name": "stdout", "text": [text]} for text in texts]
        outputs.append({"output_type": "display_data", "data": {}})
        cells = [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]
        metadata = {"papermill": {"start_time": "2026-11-01T12:00:00+00:00"}}
        files.write_text(folder / PART, json.dumps({"cells": cells, "metadata": metadata}))

    return printed


@pytest.fixture
def notebook_code():
    return code


@pytest.fixture
def timing():
    return TIMING


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Starts a local Kaggle with these limits; this process reaches it until the test ends."""
    # Less than these clients wait: where the machine has other work, a first score takes longer.
    monkeypatch.setattr(competitions, "SCORING_SECONDS", TIMING.timeouts.read / 2)
    with contextlib.ExitStack() as opened:

        def serve(root=tmp_path / "kaggle", tokens=None, **limits):
            kaggle = LocalKaggle(root, limits=ServerLimits(**limits), tokens=tokens)
            server = opened.enter_context(kaggle)
            opened.enter_context(server.attach())
            return server

        yield serve


@pytest.fixture
def busy_kaggle(serve):
    """A local Kaggle whose sessions stay in the queue."""
    return serve(queue_seconds=60.0)


@pytest.fixture
def connect(tmp_path):
    """Connects a command's context to the local Kaggle of the test."""

    def connect():
        context = PushContext(tmp_path, Events(io.StringIO(), rehearsal=True), TIMING)
        context.kaggle = Kaggle(open_connection(TIMING.timeouts), TIMING.retries)
        return context

    return connect


@pytest.fixture
def answers_to(monkeypatch):
    """`answers_to("GetDataset", change)`: its answers pass through `change(answer, number)`."""

    def answers_to(method, change):
        ask, numbers = Connection.ask, itertools.count(1)

        def changed(self, call, request, **fields):
            answer = ask(self, call, request, **fields)
            if type(request).__name__ == f"Api{method}Request":
                change(answer, next(numbers))
            return answer

        monkeypatch.setattr(Connection, "ask", changed)

    return answers_to


IN_ONE_PROCESS = """\
import json, time
names = {"__name__": "__main__"}
for cell in json.load(open("../src/source.ipynb"))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile(cell["source"], "cell", "exec"), names)
time.sleep(0.15)  # long enough to be seen running
"""


@pytest.fixture
def quick_sessions(monkeypatch):
    """Sessions that run their cells in one plain process, and no report afterwards.

    Papermill and nbconvert each take seconds to start.
    """
    from kernelkit.pages.one_run import push_report
    from local_kaggle.execution import running

    of_script = running.command

    def command(kernel_type, box):
        if kernel_type == "script":
            return of_script(kernel_type, box)
        return [str(box.environment_folder / "bin/python"), "-c", IN_ONE_PROCESS]

    monkeypatch.setattr(running, "command", command)
    monkeypatch.setattr(
        push_report, "report_or_why", lambda folder, *_: (folder / "report.html", "")
    )


class PackageIndex:
    """The only place in which pip finds packages: a folder of wheels that the test makes."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, name, version="1.0", requires=(), *, modules=(), tag="py3-none-any", folder=None):
        """Make a wheel whose modules, by default one of its name, hold the version."""
        module = name.replace("-", "_")
        info = f"{module}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
        files = {f"{one}.py": f"VERSION = {version!r}\n" for one in modules or (module,)}
        files |= {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
            f"{info}/RECORD": "",
        }
        place = folder or self.folder
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{module}-{version}-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in files.items():
                archive.writestr(zipfile.ZipInfo(file), text)
        return path

    def clear(self):
        """Take every wheel out."""
        for path in self.folder.iterdir():
            path.unlink()


@pytest.fixture
def index(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as continuous integration does
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return PackageIndex(folder)


@pytest.fixture
def received(monkeypatch):
    """The bytes of each transfer."""
    sizes = []
    chunks = transfers.chunks

    def counted(*arguments):
        sizes.append(0)
        for chunk in chunks(*arguments):
            sizes[-1] += len(chunk)
            yield chunk

    monkeypatch.setattr(transfers, "chunks", counted)
    return sizes
