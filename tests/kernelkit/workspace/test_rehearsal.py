"""What fills a rehearsal's inputs: the project's command, with what the runs ask of them."""

import sys

from kernelkit.plans import plan
from kernelkit.workspace.rehearsal import attached


def test_the_command_names_what_the_runs_ask_for(repository):
    command = '[tool.kernelkit]\ncatalogue = "fill {catalogue} {files} {size}"\n'
    (repository.root / "pyproject.toml").write_text(command)

    def catalogue(*starts):
        return plan.make(None, (), repository.metadata, None, None, None, starts).catalogue

    assert catalogue() == "fill {catalogue} 3"
    assert catalogue({"files": 5, "size": "a b"}) == "fill {catalogue} 3 5 'a b'"


def test_each_command_is_run_once(tmp_path):
    code = "import os, sys; os.makedirs(sys.argv[1] + '/competitions/' + sys.argv[2])"
    (tmp_path / "fill.py").write_text(code)
    command = f"{sys.executable} {tmp_path / 'fill.py'} {{catalogue}}"
    for name in ("a", "b", "a", "b"):  # twice would fail, since the folder is there
        with attached(tmp_path / "kaggle", f"{command} {name}"):
            pass

    found = sorted(path.name for path in (tmp_path / "kaggle/catalogue/competitions").iterdir())
    assert found == ["a", "b"]


def test_an_edited_script_fills_again(tmp_path):
    script = tmp_path / "fill.py"
    for text in ("a", "a", "b", "b"):
        script.write_text(f"import sys; open(sys.argv[1] + '/runs', 'a').write({text!r})")
        with attached(tmp_path / "kaggle", "python fill.py {catalogue}", tmp_path):
            pass
    assert (tmp_path / "kaggle/catalogue/runs").read_text() == "ab"


def test_two_projects_with_one_local_kaggle_each_fill_it(tmp_path):
    code = (
        "import os, pathlib, sys; pathlib.Path(sys.argv[1], os.path.basename(os.getcwd())).touch()"
    )
    for name in ("a", "b"):
        (tmp_path / name / "inputs").mkdir(parents=True)
        (tmp_path / name / "inputs/__main__.py").write_text(code)
        with attached(tmp_path / "kaggle", "python -m inputs {catalogue}", tmp_path / name):
            pass
        assert (tmp_path / "kaggle/catalogue" / name).is_file()


def test_the_command_has_the_environment_of_who_rehearses(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("https_proxy", "http://proxy.test:1")
    code = "import os, sys; text = os.environ['HOME'] + ' ' + os.environ['https_proxy']"
    (tmp_path / "fill.py").write_text(f"{code}; open(sys.argv[1] + '/told', 'w').write(text)")

    with attached(tmp_path / "kaggle", "python fill.py {catalogue}", tmp_path):
        pass

    told = (tmp_path / "kaggle/catalogue/told").read_text()
    assert told == f"{tmp_path / 'home'} http://proxy.test:1"
