"""The process that forks runs, which are lost with it."""

import time

from kernelkit.sweep.workers import launchers
from kernelkit.sweep.workers.launchers import ForkServer


def wait(*runs):
    """Wait for the end of these runs."""
    end = time.monotonic() + 60
    while None in [run.poll() for run in runs] and time.monotonic() < end:
        time.sleep(0.02)
    assert [run.poll() for run in runs] == [0] * len(runs)


def test_its_runs_end_with_it_and_the_next_one_has_a_new_server(tmp_path):
    fork_server = ForkServer((), tmp_path / "log.txt")
    notebook = tmp_path / "slow.py"
    notebook.write_text('# %% tags=["parameters"]\n# %%\nimport time\ntime.sleep(600)\n')
    request = {"notebook": str(notebook), "values": {}, "report": False, "folder": str(tmp_path)}
    run = fork_server.start(request)
    assert run.poll() is None
    server = fork_server._server
    server.kill()
    wait(run)
    assert run.lost
    other = fork_server.start(request | {"notebook": "none.py"})
    wait(other)
    assert fork_server._server is not server
    assert not other.lost
    fork_server.close()


def test_a_module_that_starts_threads_is_not_forked_with_them(tmp_path, monkeypatch):
    (tmp_path / "busy.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    fork_server = ForkServer(("kernelkit.no_such_module", "busy"), tmp_path / "imports.txt")
    request = {"notebook": str(tmp_path / "none.py"), "values": {}, "report": False}

    run = fork_server.start(request | {"folder": str(tmp_path)})

    wait(run)
    fork_server.close()
    assert "none.py" in (tmp_path / "error.txt").read_text()
    assert "a module in `warm` starts threads" in (tmp_path / "imports.txt").read_text()


def test_one_that_is_stuck_in_an_import_is_ended(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(launchers, "BEGIN_SECONDS", 3.0)
    fork_server = ForkServer(("endless",), tmp_path / "log.txt")

    run = fork_server.start({"folder": str(tmp_path)})

    assert run.poll() == 0
    fork_server.close()
