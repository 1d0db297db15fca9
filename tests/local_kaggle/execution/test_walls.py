"""What a session can reach behind walls, by each program that builds them."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from local_kaggle.execution import walls
from local_kaggle.execution.sandbox import MountedSource

LOOK = """
import os, socket
print("paths", sorted(os.listdir("/kaggle")), os.getcwd())
print("hidden", [path for path in {hidden!r} if os.path.exists(path)])
print("read", open("/kaggle/input/competitions/soil/train.csv").read())
for place in ("/kaggle/input/competitions/soil/new", "/kaggle/input/new", "/usr/new"):
    try:
        open(place, "w")
        print("wrote", place)
    except OSError as error:
        print("refused", error.strerror)
for place in ("/kaggle/working", "/kaggle/temp", "/kaggle/tmp", "/tmp", os.environ["HOME"]):
    open(place + "/out", "w").write("out")
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname(), timeout=5)
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=5)
    print("reached the desk")
except OSError as error:
    print("no network", error.strerror)
print("processes", len([name for name in os.listdir("/proc") if name.isdigit()]) < 4)
"""


def look(box, code):
    return subprocess.run(
        box.enclosed([f"{box.image}/bin/python", "-c", code]),
        cwd=box.working,
        env=box.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("linked", [False, True], ids=["files", "links"])
def test_a_session_sees_kaggles_paths_and_nothing_of_the_desk(box, tmp_path, linked):
    data, elsewhere = tmp_path / "catalogue", tmp_path / "elsewhere/train.csv"
    data.mkdir()
    elsewhere.parent.mkdir()
    elsewhere.write_text("id,ph")
    if linked:
        (data / "train.csv").symlink_to(elsewhere)
    else:
        shutil.copy(elsewhere, data)
    box.sources = [MountedSource("competitions", "soil", data)]
    hidden = [str(Path(__file__)), str(Path.home() / ".kaggle"), str(tmp_path / "session")]
    with socket.create_server(("127.0.0.1", 0)) as desk:
        code = LOOK.format(hidden=hidden, port=desk.getsockname()[1])
        done = look(box, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "paths ['input', 'src', 'temp', 'tmp', 'working'] /kaggle/working",
        "hidden []",
        "read id,ph",
        *["refused Read-only file system"] * 3,
        "no network Connection refused",
        "processes True",
    ]
    assert (box.working / "out").read_text() == "out"
    assert not (data / "new").exists()


def test_a_program_may_have_many_inputs(box):
    done = subprocess.run(
        box.enclosed(["/bin/echo", *["x" * 1000] * 200]), cwd=box.working, capture_output=True
    )
    assert len(done.stdout) > 2**17, done.stderr


def test_with_internet_the_desks_network_is_there(box):
    box.internet = True
    with socket.create_server(("127.0.0.1", 0)) as desk:
        code = f"import socket; socket.create_connection({desk.getsockname()}, timeout=5)"
        assert look(box, code).returncode == 0


def test_with_internet_the_desks_certificates_are_there(box, tmp_path):
    bundle = tmp_path / "company.pem"
    bundle.write_text("of a company")
    box.internet = True
    box.reached_by = {"PIP_CERT": str(bundle)}
    code = 'import os; print(open(os.environ["PIP_CERT"]).read())'
    assert look(box, code).stdout == "of a company\n"


def test_the_program_that_was_tried_is_the_one_that_runs(tmp_path, monkeypatch):
    """A session has a PATH of its own, on which it may not be."""
    program = tmp_path / "bin" / "unshare"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    walls._found.cache_clear()
    try:
        line = walls.enclosed(["true"], {}, tmp_path / "root", "unshare", internet=False)
        assert line[0] == str(program)
        with pytest.raises(FileNotFoundError, match="no bwrap"):
            walls.enclosed(["true"], {}, tmp_path / "root", "bubblewrap", internet=False)
    finally:
        walls._found.cache_clear()


def test_without_walls_one_line_says_what_is_not_held(context, monkeypatch):
    monkeypatch.setattr(walls, "builder", lambda: "")
    context.save("no-walls", "print(open('/kaggle/working/x', 'w').name.endswith('working/x'))")
    assert context.finish("no-walls") == "COMPLETE", context.log("no-walls")
    assert context.log("no-walls") == f"{walls.NOT_HELD}\nTrue\n"
