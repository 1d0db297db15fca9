"""A notebook that takes no time, and sweeps over it."""

import csv
import io
import json

import pytest

from kernelkit import files
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning import read_sweep
from kernelkit.sweep.results import table as results
from kernelkit.sweep.run_sweep import sweep
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions

NOTEBOOK = """\
# %% tags=["parameters"]
a = 1  # [0, 2000]: what the score depends on
kind = "x"  # x | y: what it depends on a little
does = "score"  # score | fail | hang | eat | die | fill | slow | garble | late: how it behaves
seed = 0  # >= 0: noise
output = ""  # the run's folder

# %%
import json, os, pathlib, signal, time

folder = pathlib.Path(output)
if does == "fail":
    raise ValueError("withered")
if does == "hang":
    time.sleep(600)
if does == "eat":
    held = []
    while True:
        held.append(b"x" * 20_000_000)
        time.sleep(0.02)
if does == "die":
    os.kill(os.getpid(), signal.SIGKILL)
if does == "fill":
    raise OSError(28, "No space left on device")
if does == "slow":
    time.sleep(0.6)

# %%
curve = [a / 100 * (1 - 0.5**n) for n in range(1, 6)]
rows = [f"{n},{value}" for n, value in enumerate(curve)]
(folder / "history.csv").write_text("\\n".join(["epoch,val_macro_f1", *rows]))
score = a / 100 + (kind == "y") * 0.05 + seed / 1000
facts = {"macro_f1": score, "accuracy": score, "seconds": 1.0 + a, "device": {"kind": "cpu"}}
minutes = float(os.environ.get("KERNELKIT_SESSION_MINUTES", 0))
began = float(os.environ.get("KERNELKIT_SESSION_BEGAN", 0))
if kept := os.environ.get("KERNELKIT_KEPT"):
    facts["kept"] = len(os.listdir(kept)) if os.path.isdir(kept) else 0
    os.makedirs(kept, exist_ok=True)
    pathlib.Path(kept, f"feature-{a}").write_text(kind)
if does == "late" and minutes and time.monotonic() > began + 60 * minutes * 0.5:
    facts["stopped"] = "time limit"
text = json.dumps(facts)
(folder / "metrics.json").write_text(text if does != "garble" else text[:20])
"""


FAULT = "ValueError: </script><b>odd & bad"


class Sweeps:
    """A folder with the notebook, in which sweeps are written and run."""

    def __init__(self, folder):
        self.folder = folder
        self.notebook = folder / "tiny.py"
        self.notebook.write_text(NOTEBOOK)
        self.runs = folder / "runs"

    def write(self, text, name="tiny"):
        """Write a sweep's YAML; returns its path."""
        path = self.folder / f"{name}.yaml"
        path.write_text(f"notebook: tiny.py\n{text}\n")
        return path

    def read(self, text, *overrides, **options):
        """Write one and read it."""
        return read_sweep.read(self.write(text), overrides, **options)

    def run(self, text, *parameters, **options):
        """Write and run one; returns its folder. What it printed is in `message`."""
        stream = io.StringIO()
        workers = None if options.get("kaggle") or options.get("dask") else 2
        defaults = {"output": self.runs, "report": False, "stream": stream, "workers": workers}
        options = defaults | options
        try:
            return sweep(self.write(text), parameters, SweepOptions(**options))
        finally:
            self.message = stream.getvalue()

    def rehearse(self, text, *parameters, **options):
        """Run one in sessions of the local Kaggle."""
        return self.run(text, *parameters, kaggle=True, local=True, **options)

    def finish(
        self,
        text,
        score=lambda run: run["a"] / 1000,
        name="tiny",
        left=(),
        stopped=lambda run: False,
    ):
        """Write a sweep as if its runs had ended with this score of their values, or failed.

        `left`: {name: text} of files that each run left; `stopped`: whether the time limit of its
        session stopped a run of these values. Returns the sweep's page.
        """
        sweep = read_sweep.read(self.write(f"score: macro_f1\n{text}", name))
        folder = SweepFolder(self.runs)
        for run in sweep.runs:
            place, value = folder.run_folder(run.id), score(run.values)
            state = sweep_folder.STOPPED if stopped(run.values) else sweep_folder.DONE
            ended = (sweep_folder.FAILED, FAULT) if value is None else (state, "")
            folder.write(run.id, Record(ended[0], dict(run.overrides), 9.0, ended[1]))
            measured = {"macro_f1": value}
            if stopped(run.values):
                measured["stopped"] = "time limit"
            metrics = {} if value is None else {"metrics.json": json.dumps(measured)}
            for file, content in (metrics | dict(left)).items():
                files.write_text(place / file, content)
        page = results.gather(folder, sweep, sweep.runs)
        results.write(page)
        return page

    def rows(self):
        """The lines of the table, {column: text} each."""
        with (self.runs / "results.csv").open(newline="") as lines:
            return list(csv.DictReader(lines))

    def states(self):
        """The states of the runs, in the order of the table."""
        return [row["state"] for row in self.rows()]


@pytest.fixture
def sweeps(tmp_path):
    return Sweeps(tmp_path)


@pytest.fixture
def run(sweeps):
    return sweeps.read("grid: {a: [1]}").runs[0]
