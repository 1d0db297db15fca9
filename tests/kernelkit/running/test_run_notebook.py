"""Whole runs of tiny notebooks: what they leave, in success and in failure."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from kernelkit import files
from kernelkit.cli.console import main
from kernelkit.errors import KernelkitError, ParameterError, RunFailedError, StorageError
from kernelkit.notebook import document
from kernelkit.pages.one_run import report_page
from kernelkit.pages.one_run.report_page import report_run
from kernelkit.running import chosen_folder as choosing
from kernelkit.running.executing import execute, kernel_manager, resources
from kernelkit.running.run_notebook import ExecutedRun, run_notebook
from kernelkit.scores import history
from kernelkit.terminal.events import Events

pytestmark = pytest.mark.filterwarnings(
    # pyzmq and jupyter_client close their sockets and loops after the test is over
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning:(zmq|jupyter_client|papermill|nbclient)",
)

NOTEBOOK = """# %% [markdown]
# # A small study
# ## The only part

# %% tags=["parameters"]
scale = 2  # >= 0: what to multiply with
output = ""  # the run's folder

# %%
import json
import os
import signal
from pathlib import Path

print("scaled", 21 * scale)
if scale == 13:
    raise type("ValueError", (Exception,), {})("thirteen is not for us")
Path(output, "metrics.json").write_text(json.dumps({"macro_f1": scale / 10, "seconds": 1.0}))
"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.py").write_text(NOTEBOOK)
    return tmp_path / "study.py"


def test_a_cell_may_begin_with_an_indentation_as_on_kaggle(tmp_path, capsys):
    cell = nbformat.v4.new_code_cell("\n  x = 1\n  y = 2\nprint('sum', x + y)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "indented.ipynb")
    run_notebook(tmp_path / "indented.ipynb", [], output=tmp_path / "run")
    assert "sum 3" in capsys.readouterr().out


def test_python_in_a_shell_line_is_the_one_that_runs_the_notebook(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", os.defpath)
    shell = "prefix = !python -c 'import sys; print(sys.prefix)'"
    code = f"import sys\n{shell}\nprint('same', prefix == [sys.prefix])"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbformat.write(notebook, tmp_path / "shell.ipynb")
    run_notebook(tmp_path / "shell.ipynb", [], output=tmp_path / "run")
    assert "same True" in capsys.readouterr().out


def test_a_notebook_that_a_cell_ended_says_how_many_did_not_run(tmp_path, capsys):
    cells = ["print(1)", "import sys\nsys.exit(0)", "print(3)", "print(4)"]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbformat.write(notebook, tmp_path / "early.ipynb")
    run_notebook(tmp_path / "early.ipynb", [], output=tmp_path / "run")
    assert "ended     by code cell 2: 2 cells did not run" in capsys.readouterr().out


def test_a_notebook_that_calls_exit_says_that_this_ends_none(tmp_path, capsys):
    cells = ["done = False", "if done:\n    exit()", "print(3)"]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbformat.write(notebook, tmp_path / "early.ipynb")
    run_notebook(tmp_path / "early.ipynb", [], output=tmp_path / "run")
    assert "code cell 2 calls exit(), which has not ended the notebook" in capsys.readouterr().out


def test_a_librarys_notes_do_not_reach_the_terminal_and_other_lines_do(notebook, capfd):
    """C++ libraries write past Jupyter, to the stderr that the notebook's process was given."""
    note = "I0000 00:00:1795343838.200378   12920 port.cc:153] oneDNN operations are on"
    child = f"import os; os.write(2, b'{note}\\nout of memory\\n')"
    cell = f"# %%\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    notebook.write_text(NOTEBOOK + cell)
    run_notebook(notebook, [], name="noted")
    shown = "".join(capfd.readouterr())
    assert "oneDNN" not in shown
    assert "out of memory" in shown


@pytest.mark.filterwarnings("error::nbformat.warnings.MissingIDFieldWarning")
def test_a_cell_without_the_id_of_its_format_is_no_news(tmp_path):
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    content = {"cells": [cell | {"source": "1"}], "metadata": {}, "nbformat": 4}
    (tmp_path / "study.ipynb").write_text(json.dumps(content | {"nbformat_minor": 5}))
    run_notebook(tmp_path / "study.ipynb", [], output=tmp_path / "run")


def test_what_a_child_process_writes_is_shown_once(notebook, capfd):
    child = "import os; os.write(1, b'from a child\\n'); os.write(2, b'a complaint\\n')"
    cell = f"# %%\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    notebook.write_text(NOTEBOOK + cell)
    run_notebook(notebook, [], name="loud")
    shown = capfd.readouterr()
    assert shown.out.count("from a child") == 1
    assert shown.err.count("a complaint") == 1
    run_notebook(notebook, [], name="quiet", quiet=True)
    assert "from a child" not in capfd.readouterr().out


def left_in(folder):
    """The files that a run left, but for the kit's own."""
    return {path.name for path in folder.iterdir()} - {".kernelkit"}


def test_a_run_leaves_its_folder_with_a_report_that_needs_no_network(notebook, capsys):
    run = run_notebook(notebook, ["scale=3"], name="first", report=report_run)
    assert run.folder == Path("runs/first")
    assert "scaled 63" in capsys.readouterr().out
    assert left_in(run.folder) == {"metrics.json", "report.html", "run.ipynb"}
    assert run.metrics["macro_f1"] == 0.3
    assert str(notebook) not in (run.folder / "run.ipynb").read_text()
    page = run.report.read_text()
    assert "A small study" in page
    assert "scaled 63" in page
    assert page.count('<details class="code">') == 1  # the parameters are shown by themselves
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "scale=3" in page.partition("<main")[0]


def test_a_terminal_shows_how_long_a_silent_notebook_runs_and_that_the_report_is_written(
    notebook, monkeypatch
):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("kernelkit.terminal.live_line.TICK_SECONDS", 0.01)
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    run_notebook(notebook, name="first", report=report_run)
    lines = out.getvalue().replace("\n", "\r\x1b[K").split("\r\x1b[K")
    assert "running for 0 s" in lines
    assert lines[-2].startswith("writing the report")
    assert lines[-1] == ""


def test_in_a_terminal_steps_are_one_line_and_libraries_are_quiet(notebook, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    cell = """print("level", os.environ["TF_CPP_MIN_LOG_LEVEL"])
for n in range(1, 4):
    print(f"  reading {n} of 3  0:0{3 - n} left")
"""
    notebook.write_text(NOTEBOOK + cell)
    out, err = Terminal(), Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("kernelkit.terminal.live_line.TICK_SECONDS", 1000)
    run = run_notebook(notebook, name="first")
    assert err.getvalue() == ""
    assert out.getvalue() == (
        f"run       {notebook.name} in runs/first\n"
        "scaled 42\nlevel 3\n"
        "  reading 1 of 3  0:02 left\r\x1b[K  reading 2 of 3  0:01 left\r\x1b[K"
        "  reading 3 of 3  0:00 left\n"
    )
    assert "reading 2 of 3" in (run.folder / "run.ipynb").read_text()
    assert not run.report.exists()
    shown = io.StringIO()
    run.tell(Events(shown))
    assert shown.getvalue().endswith(
        "report    runs/first\nnext      kernelkit report runs --index  # all runs\n"
    )


def test_a_run_out_of_time_says_that_it_can_be_continued(tmp_path):
    for stopped, told in (("time limit", 1), ("early stopping", 0)):
        shown = io.StringIO()
        ExecutedRun(tmp_path, 1.0, {"f1": 0.5, "stopped": stopped}).tell(Events(shown))
        assert shown.getvalue().count("the same command, without --fresh, continues it") == told


@pytest.mark.parametrize(("name", "code"), [("ValueError", 6), ("DataError", 11)])
def test_a_failing_notebook_leaves_what_it_did_and_says_where_and_why(notebook, name, code):
    notebook.write_text(NOTEBOOK.replace("ValueError", name))
    Path("runs/first").mkdir(parents=True)
    Path("runs/first/metrics.json").write_text('{"macro_f1": 0.99}')
    with pytest.raises(KernelkitError) as error:
        run_notebook(notebook, ["scale=13"], name="first", quiet=True, report=report_run)
    assert error.value.exit_code == code
    assert f"{name}: thirteen is not for us" in str(error.value)
    assert "code cell 2 (import json)" in str(error.value)
    folder = Path("runs/first")
    assert left_in(folder) == {"report.html", "run.ipynb"}
    assert "The run did not finish" in (folder / "report.html").read_text()


def test_a_notebook_without_parameters_runs_and_its_report_has_what_it_uses(notebook, monkeypatch):
    monkeypatch.setattr(resources, "RECORD_SECONDS", 0.05)
    text = "b = bytes(10**8)\nsum(range(5 * 10**6))"
    notebook.write_text(f"# %%\n{text}\n")
    with pytest.raises(ParameterError, match="no cell tagged 'parameters'"):
        run_notebook(notebook, ["a=1"], report=report_run)
    run = run_notebook(notebook, quiet=True, report=report_run)
    ran = nbformat.read(run.folder / "run.ipynb", as_version=4).cells
    assert [cell.source for cell in ran] == [text]
    columns = history.read(run.folder / ".kernelkit", "resources.csv")
    assert list(columns) == ["seconds", "memory", "cpu_seconds"]
    assert max(map(int, columns["memory"])) > 10**8
    assert max(map(float, columns["cpu_seconds"])) > 0.2
    assert 'id="machine-charts"' in run.report.read_text()


def test_a_process_that_dies_is_a_failed_run(notebook):
    notebook.write_text(NOTEBOOK.replace('print("scaled"', 'import os; os._exit(1)\nprint("sc"'))
    with pytest.raises(RunFailedError, match="process died"):
        run_notebook(notebook, name="dead", quiet=True, report=report_run)
    page = (Path("runs") / "dead" / "report.html").read_text()
    assert "The run did not finish.</strong> DeadKernelError: the notebook" in page
    assert 'id="failed"' in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("study.py -p scal=3", 2, "the notebook has no parameter 'scal': did you mean scale?"),
        ("study.py -p output=mine", 2, "the run's folder: choose that with --output"),
        ("nowhere.py", 2, "no notebook at nowhere.py"),
        ("study.txt", 2, "study.txt"),
        ("study.py --output /proc/nothing/run", 12, "cannot make the folder"),
    ],
)
def test_what_cannot_run_is_said_before_anything_runs(notebook, arguments, code, message):
    Path("study.txt").write_text("{")
    done = CliRunner().invoke(main, f"run {arguments}")
    assert done.exit_code == code
    assert done.output.startswith("error: ")
    assert message in done.output
    assert len(done.output.splitlines()) == 1
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "whole_group",
    [pytest.param(True, id="terminal"), pytest.param(False, id="kill", marks=pytest.mark.long)],
)
def test_an_interrupt_ends_with_130_and_keeps_what_ran(notebook, hearing_ctrl_c, whole_group):
    notebook.write_text(
        NOTEBOOK + "\n# %%\nimport time\nprint('asleep', flush=True)\ntime.sleep(60)\n"
    )
    script = files.write_text(
        notebook.with_name("command.py"), "from kernelkit.cli.console import main\n\nmain()\n"
    )
    process = subprocess.Popen(
        [*hearing_ctrl_c, str(script), "run", str(notebook), "--name", "cut"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert any("asleep" in line for line in process.stdout)
    send = os.killpg if whole_group else os.kill
    send(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130, message
    assert "interrupted" in message.splitlines()  # before or after what the kernel itself says
    folder = Path("runs/cut")
    assert left_in(folder) == {"metrics.json", "report.html", "run.ipynb"}
    assert "scaled 42" in (folder / "run.ipynb").read_text()


def test_parameters_of_an_earlier_run_do_not_count_and_tags_may_be_null(notebook):
    earlier = '\n# %% tags=["injected-parameters"]\nscale = 9\n'
    notebook.write_text(NOTEBOOK.replace("\n# %%\nimport json", earlier + "\n# %%\nimport json"))
    content = document.read(notebook)
    for cell in (content.cells[0], content.cells[-1]):
        cell.metadata["tags"] = None
    odd = notebook.with_suffix(".ipynb")
    notebook.rename("other.py")
    odd.write_text(json.dumps(content))
    assert run_notebook(odd, quiet=True, report=report_run).metrics["macro_f1"] == 0.2


def test_modules_of_another_repository_are_found_though_not_installed(tmp_path, monkeypatch):
    other = tmp_path / "other"
    for place in ("src/blossom_in_src", "blossom_at_root"):
        files.write_text(other / place / "__init__.py", "F1 = 0.75\n")
    files.write_text(other / "src" / "alone.py", "F1 = 0.75\n")
    settings = '[tool.kernelkit]\npackages = ["blossom_in_src", "blossom_at_root", "gone"]\n'
    files.write_text(other / "pyproject.toml", settings)
    imports = "import alone, beside, blossom_in_src, blossom_at_root, subprocess, sys\n"
    again = "subprocess.run([sys.executable, '-c', 'import alone, beside'], check=True)\n"
    text = NOTEBOOK.replace("import json\n", f"{imports}import json\n{again}", 1)
    notebook = files.write_text(other / "elsewhere" / "study.py", text)
    files.write_text(other / "elsewhere" / "beside.py", "")
    files.write_text(other / "elsewhere" / "random.py", "1 / 0")  # none that Python itself needs
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert (
        run_notebook(notebook, name="other", quiet=True, report=report_run).metrics["macro_f1"]
        == 0.2
    )
    assert "PYTHONPATH" not in os.environ


@pytest.mark.parametrize("name", ["{run}", "{", "}", "{{}}", "{0}", "%s {a!r}"])
def test_a_folder_keeps_the_braces_in_its_name(notebook, tmp_path, monkeypatch, name):
    notebook.write_text('# %% tags=["parameters"]\nrun = "other"\n')
    beside = tmp_path / f"in {name}"
    beside.mkdir()
    monkeypatch.chdir(beside)
    run = run_notebook(notebook, output=beside / name, quiet=True)
    assert run.folder == beside / name
    assert (beside / name / "run.ipynb").is_file()
    assert [path.name for path in beside.iterdir()] == [name]


def test_infinite_numbers_reach_the_notebook_wherever_they_are(notebook):
    notebook.write_text(
        '# %% tags=["parameters"]\nlimits = (1.0,)\nrates = {}\n# %%\nprint(limits, rates)\n'
    )
    given = ["limits=(inf, -inf)", "rates={'a': [inf]}"]
    run = run_notebook(notebook, given, name="limits", quiet=True)
    assert "(inf, -inf) {'a': [inf]}" in (run.folder / "run.ipynb").read_text()


def test_a_report_that_the_run_left_stays_the_runs(notebook):
    notebook.write_text(NOTEBOOK + "Path(output, 'report.html').write_text('mine')\n")
    run = run_notebook(notebook, quiet=True, report=report_run)
    assert (run.folder / "report.html").read_text() == "mine"
    assert run.report.parent.name == ".kernelkit"
    assert "<html" in run.report.read_text()


def test_a_dict_keeps_its_keys(notebook, capsys):
    notebook.write_text('# %% tags=["parameters"]\nrates = {}\n# %%\nprint(rates)\n')
    run_notebook(notebook, {"rates": {0: 0.5, "a": 1}}, name="keys")
    assert "{0: 0.5, 'a': 1}\n" in capsys.readouterr().out


def test_a_report_that_fails_does_not_cost_the_run(notebook, monkeypatch, capsys):
    monkeypatch.setattr(report_page, "render", lambda *_: 1 / 0)
    notebook.write_text("# %%\nprint(1)\n")
    run = run_notebook(notebook, name="reported", report=report_run)
    assert (run.folder / "run.ipynb").is_file()
    assert "run.ipynb: ZeroDivisionError" in capsys.readouterr().err


def test_a_notebook_that_the_disk_cuts_short_is_no_mistake_in_usage(tmp_path):
    part = tmp_path / ".run.ipynb.part.ipynb"
    part.write_text('{"cells": [')
    with pytest.raises(StorageError, match=r"run\.ipynb could not be written completely"):
        execute._keep(part, tmp_path / "run.ipynb", "")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%shell\necho 1", "UsageError: Cell magic `%%shell` not found"),
        (
            "%nothing_of_the_kind",
            "UsageError: Line magic function `%nothing_of_the_kind` not found",
        ),
        ("open('/kaggle/input/titanic/train.csv')", "is in sessions alone, as of kernelkit"),
    ],
)
def test_a_magic_that_ipython_lacks_or_a_path_that_kaggle_has_is_the_reason(
    tmp_path, monkeypatch, cell, words
):
    monkeypatch.chdir(tmp_path)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(book, tmp_path / "t.ipynb")
    with pytest.raises(RunFailedError) as failed:
        run_notebook(tmp_path / "t.ipynb")
    assert words in str(failed.value)


def test_the_terminal_shows_what_a_notebook_logs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "import logging\nlogging.warning('epoch %d of 3', 1)"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text)])
    nbformat.write(book, tmp_path / "t.ipynb")
    run_notebook(tmp_path / "t.ipynb")
    assert capsys.readouterr().err.count("epoch 1 of 3") == 1


def test_an_interrupted_run_says_what_is_kept(notebook, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelkit.running.run_notebook.execute", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_notebook(notebook, name="first")
    assert capsys.readouterr().out == (
        f"run       {notebook.name} in runs/first\n"
        "interrupted what the run has made so far is in runs/first; "
        "the same command continues it\n"
    )
    with pytest.raises(KeyboardInterrupt):
        run_notebook(notebook, fresh=True)
    assert "; the same command without --fresh continues it\n" in capsys.readouterr().out


def test_for_programs_every_line_is_an_event(notebook):
    notebook.write_text(NOTEBOOK.replace("scale = 2", "spare = 1\nscale = 2"))
    values = {"spare": 1, "scale": 2, "output": ""}
    chosen = choosing.chosen_folder(notebook, values, Events())
    with pytest.raises(KeyboardInterrupt), chosen:
        raise KeyboardInterrupt
    done = CliRunner().invoke(
        main, ["run", str(notebook), "-p", "spare=1", "--json", "--no-report"]
    )
    told = [json.loads(line) for line in done.output.splitlines()]
    names = [each["event"] for each in told]
    assert names == ["continues", "run", "warning", "metrics", "report", "next"]
    assert told[0]["folder"] == told[1]["folder"] == told[4]["folder"]


def test_the_python_that_runs_the_kit_runs_the_notebook(notebook, monkeypatch, capsys):
    spec = {"argv": ["/gone/bin/python", "{connection_file}"], "display_name": "old"}
    place = Path("old", "kernels", "python3", "kernel.json").absolute()
    files.write_text(place, json.dumps(spec | {"language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(place.parents[2]))
    notebook.write_text("# %%\nimport sys\nprint(sys.executable, len(sys.argv))\n")
    run_notebook(notebook, name="first")
    assert f"{sys.executable} 3\n" in capsys.readouterr().out  # as in Jupyter


def test_a_process_that_does_not_start_is_a_failed_run(notebook, monkeypatch, capfd):
    spec = {"argv": [sys.executable, "-c", "1 / 0"], "language": "python"}
    monkeypatch.setattr(kernel_manager, "get_kernel_dict", lambda: spec)
    with pytest.raises(RunFailedError, match=r"did not start \(.*\): see what it said above"):
        run_notebook(notebook, name="first", quiet=True)
    assert "ZeroDivisionError" in capfd.readouterr().err
