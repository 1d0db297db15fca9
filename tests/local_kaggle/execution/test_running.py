from __future__ import annotations

import json

import psutil
import pytest

from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

from ..conftest import KEY, Desk

LOOK = """
import os, subprocess, sys
from pathlib import Path
root = os.environ["KERNELKIT_INPUT_ROOT"]
os.environ["PYTHON_COLORS"] = "0"  # Python 3.13 colours a child's traceback in a notebook
print("input", sorted(p.as_posix() for p in Path(root).rglob("*.csv")))
print("walked", [f for _, _, files in os.walk(root) for f in files])
print("home", sorted(p.name for p in Path.home().iterdir() if not p.name.startswith(".")))
child = subprocess.run([sys.executable, "-c", "import kernelkit"], capture_output=True, text=True)
print("child", child.stderr.splitlines()[-1])
print("rehearsal", os.environ.get("KAGGLE_REHEARSAL"), os.environ.get("XLA_FLAGS"))
print("batch", os.environ["KAGGLE_KERNEL_RUN_TYPE"], Path.cwd().name)
print("secrets", [n for n in os.environ if "KEY" in n or "TOKEN" in n])
Path("sub").mkdir(); Path("sub/out.txt").write_text("out")
"""


@pytest.fixture(scope="module")
def limits() -> ServerLimits:
    return ServerLimits(lag_seconds=0)


@pytest.fixture(scope="module")
def looked(context, make_notebook) -> str:
    """The log of one TPU run that looks around."""
    context.put({"competitions/flowers/deep/train.csv": "id\n"})
    text = make_notebook(LOOK, "import petals")
    answer = context.save(
        "looks-around",
        text,
        kernelType="notebook",
        machineShape="TpuV38",
        competitionDataSources=["flowers"],
    )
    assert answer["versionNumber"] == 1
    context.finish("looks-around")
    return context.log("looks-around")


@pytest.mark.parametrize(
    "words",
    [
        "ModuleNotFoundError: No module named 'petals'",  # though its install is editable
        "child ModuleNotFoundError: No module named 'kernelkit'",
        "/competitions/flowers/deep/train.csv']",
        "walked ['train.csv']",
        "rehearsal: this TPU session is eight CPU devices",
        "rehearsal tpu --xla_force_host_platform_device_count=8",
        "home []",
        "batch Batch working",
        "secrets []",
    ],
)
def test_a_session_has_kaggles_surroundings_and_nothing_of_the_desks(looked, words):
    assert words in looked


def test_outputs_of_a_failed_run_are_kept(context, looked):
    assert context.status("looks-around", 1) == "ERROR"
    files = context.output("looks-around")["files"]
    assert [file["fileName"] for file in files] == ["sub/out.txt"]


def test_the_retired_shape_was_substituted(context, looked):
    kernel = context.call("GetKernel", userName="tester", kernelSlug="looks-around")
    assert kernel["metadata"]["machineShape"] == "TpuV5E8"


def test_a_notebook_without_a_kernelspec_dies_at_once(context, make_notebook):
    text = make_notebook("print(1)", kernelspec={})
    context.save("no-kernelspec", text, kernelType="notebook")
    assert context.finish("no-kernelspec") == "ERROR"
    assert "No kernel name found in notebook" in context.log("no-kernelspec")


@pytest.mark.parametrize(
    ("slug", "metadata", "fields"),
    [
        ("own-metadata", {"kaggle": {"accelerator": "tpu"}}, {}),
        ("pinned-image", {}, {"dockerImage": "gcr.io/kaggle-images/python"}),
    ],
)
def test_a_tpu_push_with_an_image_of_its_own_sees_no_tpu(
    context, make_notebook, slug, metadata, fields
):
    cell = "import os; print('is', os.environ.get('KAGGLE_REHEARSAL'))"
    text = make_notebook(cell, **metadata)
    context.save(slug, text, kernelType="notebook", enableTpu=True, **fields)
    assert context.finish(slug) == "COMPLETE"
    assert context.log(slug) == "is None\n"


def test_past_its_limit_a_run_is_killed_with_its_children_and_its_log_is_lost(context):
    # A session of its own, as the kernel of a notebook has: a signal to the group misses it.
    text = """
import subprocess, sys, time
child = "import time; time.sleep(60)  # a daemon of runs-on"
print("begun", flush=True)
open("partial.txt", "w").write("half")
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
time.sleep(60)
"""
    context.save("runs-on", text, sessionTimeoutSeconds=4)
    context.wait_for(lambda: running("a daemon of runs-on"))
    assert context.finish("runs-on") == "ERROR"
    assert "it ran 4 seconds, past" in failure(context, "runs-on")
    output = context.output("runs-on")
    assert not output.get("log")
    assert not output.get("files")
    assert not running("a daemon of runs-on")


def test_a_daemon_ends_with_its_session(context):
    child = "import time; time.sleep(60)  # a daemon that outlives"
    text = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])"
    context.save("leaves-daemon", text)
    assert context.finish("leaves-daemon") == "COMPLETE"
    assert not running("a daemon that outlives")


@pytest.mark.parametrize(
    ("slug", "text", "reason"),
    [
        ("eats-memory", "x = b'x' * 400_000_000; import time; time.sleep(60)", "of memory"),
        (
            "fills-disk",
            "import time; open('x', 'wb').write(bytes(60_000_000)); time.sleep(60)",
            "of output",
        ),
    ],
)
def test_past_its_memory_or_disk_a_run_is_killed(tiny, slug, text, reason):
    tiny.save(slug, text)
    assert tiny.finish(slug) == "ERROR"
    assert reason in failure(tiny, slug)
    assert not tiny.output(slug).get("files")


@pytest.fixture
def tiny(tmp_path):
    """A Kaggle whose sessions have 300 MB of memory and 50 MB of disk."""
    limits = ServerLimits(memory_bytes={"cpu": 300e6}, working_bytes=50e6, lag_seconds=0)
    with LocalKaggle(tmp_path, limits=limits, accounts={"tester": KEY}) as kaggle:
        yield Desk(kaggle, tmp_path)


def failure(context, slug):
    label = {"userName": "tester", "kernelSlug": slug, "versionLabel": "v1"}
    return context.call("GetKernelSessionStatus", **label).get("failureMessage", "")


def running(words):
    """The processes with these words in their command line."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(words in word for word in process.info["cmdline"] or ())
        and process.status() != psutil.STATUS_ZOMBIE
    ]


def test_outputs_of_one_kernel_are_inputs_of_another_and_a_dead_proxy_stands_for_no_internet(
    context,
):
    context.save("gives-data", "open('data.txt', 'w').write('petal')")
    assert context.finish("gives-data") == "COMPLETE"
    text = """
import os, urllib.request
from pathlib import Path
root = Path(os.environ["KERNELKIT_INPUT_ROOT"])
print((root / "notebooks/tester/gives-data/data.txt").read_text())
try:
    urllib.request.urlopen("http://example.invalid", timeout=5)
except OSError as error:
    print("offline", error)
"""
    context.save("takes-data", text, kernelDataSources=["tester/gives-data"], enableInternet=False)
    assert context.finish("takes-data") == "COMPLETE", context.log("takes-data")
    assert context.log("takes-data").startswith("petal\noffline")


def test_a_log_is_an_array_of_timed_lines(context):
    context.save("logs-lines", "import sys; print('out'); print('err', file=sys.stderr)")
    context.finish("logs-lines")
    events = json.loads(context.output("logs-lines")["log"])
    assert {(e["stream_name"], e["data"]) for e in events} == {
        ("stdout", "out\n"),
        ("stderr", "err\n"),
    }
    assert all(e["time"] >= 0 for e in events)
