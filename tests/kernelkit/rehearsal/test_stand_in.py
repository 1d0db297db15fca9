"""What fills a rehearsal's inputs: the project's command, with what the runs ask of them."""

import asyncio
import os
import sys
import threading

import papermill.cli
import pytest
from jupyter_client.channels import AsyncZMQSocketChannel

from kernelkit import errors
from kernelkit.rehearsal.stand_in import Rehearsal, attached
from kernelkit.running.executing import execute
from local_kaggle.execution import sandbox

from ..running.executing.test_kernel_manager import answer_while_sending


@pytest.mark.parametrize("memory", [float("inf"), float("nan")])
def test_a_memory_that_is_no_number_of_gb_is_refused(tmp_path, memory):
    with (
        pytest.raises(errors.ParameterError, match=r"--memory .*: give a number of GB"),
        attached(tmp_path, None, print, Rehearsal(memory=memory)),
    ):
        pass


def test_the_command_names_what_the_runs_ask_for(repository):
    repository.configure("""catalogue = "fill {catalogue} {files} '{size}' --size={size}"\n""")

    def catalogue(*starts):
        return repository.plan(starts=starts).catalogue_command

    assert catalogue() == "fill {catalogue} 3  --size="
    words = "fill {catalogue} 3 5 'a b' --size='a b'"
    assert catalogue({"files": 5, "size": "a b"}) == words


def test_a_command_is_run_once_for_each_project_and_script_in_the_environment_of_who_rehearses(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("https_proxy", "http://proxy.test:1")
    for project, text, word in ("oax", "oax", "oay", "pax", "oby", "oax", "oby"):
        (tmp_path / project).mkdir(exist_ok=True)
        (tmp_path / project / "fill.py").write_text(
            "import os, sys; text = os.environ['HOME'] + os.environ['https_proxy']\n"
            f"open(sys.argv[1] + '/runs', 'a').write({text!r} + sys.argv[2] + text + ' ')"
        )
        command = f"python fill.py {{catalogue}} {word}"
        with attached(tmp_path / "kaggle", tmp_path / project, print, Rehearsal(command)):
            pass
    seen = os.environ["HOME"] + "http://proxy.test:1"
    runs = (tmp_path / "kaggle/catalogue/runs").read_text().split()
    assert runs == [f"{run}{seen}" for run in ("ax", "ay", "ax", "by")]


def test_a_leading_python_is_the_projects_own(tmp_path):
    own = tmp_path / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\nOWN=yes exec "{sys.executable}" "$@"\n')
    own.chmod(0o755)
    code = "import os, sys; open(sys.argv[1] + '/own', 'w').write(os.environ['OWN'])"
    (tmp_path / "fill.py").write_text(code)
    with attached(tmp_path / "kaggle", tmp_path, print, Rehearsal("python fill.py {catalogue}")):
        pass
    assert (tmp_path / "kaggle/catalogue/own").read_text() == "yes"


def test_the_command_can_import_the_projects_packages(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    (tmp_path / "pyproject.toml").write_text('[tool.kernelkit]\npackages = ["seeds"]\n')
    for name in ("src/soil/__init__.py", "src/seeds/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    code = "import os, sys, soil, seeds; open(sys.argv[1] + '/made', 'w').write(seeds.__name__)"
    (tmp_path / "fill.py").write_text(code)
    with attached(tmp_path / "kaggle", tmp_path, print, Rehearsal("python fill.py {catalogue}")):
        assert os.environ["PYTHONPATH"] == "elsewhere"
    assert (tmp_path / "kaggle/catalogue/made").read_text() == "seeds"


def test_a_command_runs_again_when_a_file_that_it_depends_on_comes_changes_or_goes(tmp_path):
    weights = tmp_path / "weights.h5"
    (tmp_path / "fill.py").write_text(
        "import os, sys\n"
        "catalogue, file = sys.argv[1:]\n"
        "open(catalogue + '/runs', 'a').write(f'{os.path.exists(file)} ')\n"
        "open(catalogue + '/.depends', 'w').write(file + '\\n\\n')\n"
    )
    command = f"python fill.py {{catalogue}} {weights}"

    def runs():
        for _ in range(2):  # the second time it does not run
            with attached(tmp_path / "kaggle", tmp_path, print, Rehearsal(command)):
                pass
        return (tmp_path / "kaggle/catalogue/runs").read_text().split()

    assert runs() == ["False"]
    weights.write_text("first")
    assert runs() == ["False", "True"]
    weights.write_text("the second ones")
    assert runs() == ["False", "True", "True"]
    weights.unlink()
    assert runs() == ["False", "True", "True", "False"]


def test_a_second_rehearsal_waits_for_the_first(tmp_path):
    said = []
    over = threading.Event()

    def first():
        with attached(tmp_path, None, lambda *words: None, Rehearsal()):
            begun.set()
            over.wait(20)

    begun = threading.Event()
    other = threading.Thread(target=first)
    other.start()
    assert begun.wait(20)

    def tell(event, text):
        said.append(event)
        over.set()

    with attached(tmp_path, None, tell, Rehearsal()):
        assert said == ["waiting"]
    other.join()


def test_a_run_here_waits_as_long_for_the_output_of_a_cell_as_a_session():
    assert execute.IOPUB_SECONDS == sandbox.IOPUB_SECONDS


def test_a_sessions_papermill_misses_no_answer_either(monkeypatch):
    monkeypatch.setattr(AsyncZMQSocketChannel, "send", AsyncZMQSocketChannel.send)
    monkeypatch.setattr(papermill.cli, "execute_notebook", print)
    monkeypatch.setattr(papermill.cli, "papermill", lambda: None)
    exec(sandbox.PAPERMILL, {})
    answer = answer_while_sending(AsyncZMQSocketChannel)
    assert asyncio.run(answer) == "execute_reply"
    assert papermill.cli.execute_notebook.keywords == {"iopub_timeout": sandbox.IOPUB_SECONDS}
