import json
import os
import threading
from types import SimpleNamespace

import psutil
import pytest

from local_kaggle.execution.running import LINE_BYTES, LogWriter, SessionPlan, read_events
from local_kaggle.execution.sessions import Sessions
from local_kaggle.limits import ServerLimits
from local_kaggle.store import Store

from ..conftest import notebook

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
from tqdm.notebook import tqdm
print("bar", [*tqdm([7])])
"""


SURROUNDINGS = [
    "ModuleNotFoundError: No module named 'petals'",  # though its install is editable
    "child ModuleNotFoundError: No module named 'kernelkit'",
    "/competitions/flowers/deep/train.csv']",
    "walked ['train.csv']",
    "rehearsal: this TPU session is eight CPU devices",
    "rehearsal tpu --xla_force_host_platform_device_count=8",
    "home []",
    "batch Batch working",
    "secrets []",
    "bar [7]",
]


def test_a_session_has_kaggles_surroundings_and_nothing_of_the_desks(context):
    context.put({"competitions/flowers/deep/train.csv": "id\n"})
    context.save(
        "looks-around",
        notebook(LOOK, "import petals"),
        kernelType="notebook",
        machineShape="TpuV38",
        competitionDataSources=["flowers"],
    )
    assert context.finish("looks-around") == "ERROR"
    log = context.log("looks-around")
    assert [words for words in SURROUNDINGS if words not in log] == []
    files = context.output("looks-around")["files"]  # a failed run keeps them
    assert [file["fileName"] for file in files] == ["sub/out.txt"]
    kernel = context.call("GetKernel", userName="tester", kernelSlug="looks-around")
    assert kernel["metadata"]["machineShape"] == "TpuV5E8"  # for the retired shape


def test_a_cell_may_begin_with_an_indentation_as_on_kaggle(context):
    cells = notebook("\n  x = 1\n  y = 2\nprint(x + y)", "%%time\n    print('timed')")
    context.save("indented", cells, kernelType="notebook")
    assert context.finish("indented") == "COMPLETE"
    log = context.log("indented")
    assert "3\n" in log
    assert "timed" in log


def test_a_notebook_without_a_kernelspec_dies_at_once(context):
    context.save("no-kernelspec", notebook("print(1)", kernelspec={}), kernelType="notebook")
    assert context.finish("no-kernelspec") == "ERROR"
    assert "No kernel name found in notebook" in context.log("no-kernelspec")


# Its kernel says late that a cell is over, as one does that printed much on a busy machine.
LATE = """
import time
session = get_ipython().kernel.session
send = session.send
def send_late(stream, kind, content=None, *others, **named):
    if kind == "status" and content["execution_state"] == "idle":
        session.send = send
        time.sleep(6)
    return send(stream, kind, content, *others, **named)
session.send = send_late
print("printed in time")
"""


@pytest.mark.long
def test_a_cell_whose_output_arrives_late_ends_no_session(context):
    context.save("prints-late", notebook(LATE, "print('went on')"), kernelType="notebook")
    assert context.finish("prints-late") == "COMPLETE"
    assert "printed in time\nwent on\n" in context.log("prints-late")


def test_a_log_has_each_line_once_however_it_arrives_and_is_read(tmp_path):
    end, begin = os.pipe()
    log = LogWriter(tmp_path / "log")
    reader = threading.Thread(target=log.follow, args=("stdout", os.fdopen(end, "rb")))
    reader.start()
    lines = ["a\rb\n", "\n", "x" * 3 * LINE_BYTES + "\n", "é\n", "no end"]
    with os.fdopen(begin, "wb") as pipe:
        pipe.write("".join(lines).encode())
    reader.join()
    whole, size = read_events(tmp_path / "log")
    texts = [json.loads(event)["data"] for event in whole]
    assert texts[:2] == lines[:2]
    assert texts[-2:] == lines[-2:]
    assert "".join(texts) == "".join(lines)
    assert len(texts) > len(lines)  # the long one in pieces

    parts, place = [], 0
    while place < size:
        events, place = read_events(tmp_path / "log", place, 10)
        parts += events
    assert parts == whole


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
    assert "it ran 4 seconds, past" in context.failure("runs-on")
    output = context.output("runs-on")
    assert not output.get("log")
    assert not output.get("files")
    assert not running("a daemon of runs-on")


@pytest.mark.parametrize(
    ("slug", "code", "reason"),
    [
        ("eats-memory", "x = b'x' * 400_000_000", "of memory"),
        ("fills-disk", "open('x', 'wb').write(bytes(60_000_000))", "of output"),
    ],
)
def test_past_its_memory_or_disk_a_run_is_killed(context, monkeypatch, slug, code, reason):
    small = ServerLimits(memory_bytes={"cpu": 300e6}, working_bytes=50e6, lag_seconds=0)
    monkeypatch.setattr(context.kaggle, "limits", small)
    context.save(slug, f"{code}; import time; time.sleep(60)")
    assert context.finish(slug) == "ERROR"
    assert reason in context.failure(slug)
    assert not context.output(slug).get("files")


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
    text = "import sys; print('out'); print(2, file=sys.stderr)"
    context.save("gives-data", f"open('data.txt', 'w').write('petal'); {text}")
    assert context.finish("gives-data") == "COMPLETE"
    events = json.loads(context.output("gives-data")["log"])
    streams = {("stdout", "out\n"), ("stderr", "2\n")}
    assert {(event["stream_name"], event["data"]) for event in events} == streams
    assert all(event["time"] >= 0 for event in events)
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


def test_a_session_that_is_submitted_while_the_server_stops_does_not_start(tmp_path):
    store = Store(tmp_path)
    sessions = Sessions(tmp_path, store, ServerLimits())
    sessions.close()
    request = SimpleNamespace(session_timeout_seconds=60)
    plan = SessionPlan(tmp_path / "1", request, (), "cpu", "cpu", ServerLimits())
    before = threading.active_count()
    sessions.submit(1, plan, "tester")
    assert threading.active_count() == before
    assert [row["status"] for row in store.rows("SELECT status FROM sessions")] == ["QUEUED"]
    Sessions(tmp_path, store, ServerLimits())  # the next server on this root
    assert not sessions.is_alive(1)
    store.close()
