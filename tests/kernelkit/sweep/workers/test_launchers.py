"""The process that forks runs, which are lost with it."""

import time

import pytest

from kernelkit.sweep.workers import launchers
from kernelkit.sweep.workers.launchers import ForkServer


@pytest.fixture
def fork_server(tmp_path, monkeypatch):
    """Makes a fork server that imports these modules; they may lie in the test's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("1 / 0")  # none that Python itself needs
    servers = []

    def fork_server(*warm):
        servers.append(ForkServer(tmp_path, warm, tmp_path / "imports.txt"))
        return servers[0]

    yield fork_server
    servers[0].close()


def start(server, folder, notebook="none.py"):
    values = {"notebook": str(folder / notebook), "values": "", "report": False, "in_folder": False}
    return server.start(values | {"folder": str(folder)})


def wait(run):
    """Wait for the end of a run."""
    end = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert run.poll() == 0


def test_its_runs_end_with_it_and_the_next_one_has_a_new_server(tmp_path, fork_server):
    server = fork_server()
    text = '# %% tags=["parameters"]\n# %%\nimport time\ntime.sleep(600)\n'
    (tmp_path / "slow.py").write_text(text)
    run = start(server, tmp_path, "slow.py")
    assert run.poll() is None
    run.server.kill()
    wait(run)
    assert run.lost
    other = start(server, tmp_path)
    wait(other)
    assert other.server is not run.server
    assert not other.lost


def test_a_module_that_prints_does_no_harm(tmp_path, fork_server, capsys):
    (tmp_path / "loud.py").write_text("import os\nprint('hello')\nos.write(1, b'7\\n')")
    wait(start(fork_server("loud"), tmp_path))
    assert "none.py" in (tmp_path / "error.txt").read_text()
    assert "hello" in (tmp_path / "imports.txt").read_text()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "from threading import Event, Thread\nThread(target=Event().wait, daemon=True).start()",
            "a module starts threads: nothing is imported beforehand",
        ),
        (
            "import no_such_module",
            "odd cannot be imported (ModuleNotFoundError: No module named 'no_such_module'): "
            "each run imports it itself",
        ),
        ("raise SystemExit('usage: odd')", "odd cannot be imported (SystemExit: usage: odd)"),
        ("1 +", "odd cannot be imported (SyntaxError: "),
        (None, "odd cannot be imported (ModuleNotFoundError: No module named 'odd')"),
    ],
)
def test_a_module_that_cannot_be_imported_beforehand_is_named_and_the_run_starts(
    tmp_path, fork_server, capsys, text, warning
):
    if text is not None:
        (tmp_path / "odd.py").write_text(text)
    server = fork_server("odd")
    wait(start(server, tmp_path))
    assert "none.py" in (tmp_path / "error.txt").read_text()
    warned = capsys.readouterr().err
    assert f"warning: warm: {warning}" in warned
    assert warned.count("warning") == 1


def test_what_hinders_the_imports_is_told_once_in_a_sweep(tmp_path, fork_server, capsys):
    server = fork_server("no_such_module")
    for _ in range(2):
        run = start(server, tmp_path)
        run.server.kill()  # its replacement imports them again
        wait(run)
    assert capsys.readouterr().err.count("no_such_module cannot be imported") == 1


def test_one_that_is_stuck_in_an_import_is_ended(tmp_path, fork_server, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(launchers, "BEGIN_SECONDS", 0.5)
    assert start(fork_server("endless"), tmp_path).poll() == 0
