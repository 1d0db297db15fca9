"""At a root without metadata every kernel below is checked, and a job in CI says where."""

import json

import pytest
from click.testing import CliRunner

from kernelkit.cli.commands.check import check
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, guess, warning


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with three kernels, one of which has a mistake, and one no notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / ".git").mkdir()
    for name, source in {"good": "print(1)\n", "wrong": "x = (\n", "empty": None}.items():
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        values = {"id": f"me/my-{name}", "title": f"My {name}", "code_file": "n.py"}
        values |= {"language": "python", "kernel_type": "script", "enable_internet": False}
        (folder / "kernel-metadata.json").write_text(json.dumps(values))
        if source:
            (folder / "n.py").write_text(source)
    return tmp_path


def test_all_are_checked_and_a_table_ends_it(root):
    done = CliRunner().invoke(check, [])
    assert done.exit_code == 3
    rows = [line.split() for line in done.stdout.splitlines() if "n.py" in line and "CPU" in line]
    assert [row[-2:] for row in rows] == [["1", "0"], ["0", "0"], ["1", "0"]]
    assert "2 of 3 kernels have problems" in done.stderr


def test_a_kernel_of_r_is_not_checked_and_is_no_problem(root):
    values = {"id": "me/my-plots", "title": "My plots", "code_file": "plots.Rmd"}
    values |= {"language": "r", "kernel_type": "notebook"}
    folder = root / "r" / "plots"
    folder.mkdir(parents=True)
    (folder / "kernel-metadata.json").write_text(json.dumps(values))
    (folder / "plots.Rmd").write_text("x <- 1\n")
    done = CliRunner().invoke(check, ["r"])
    assert done.exit_code == 0, done.output
    assert "not checked: plots.Rmd is R" in done.stdout
    (row,) = [line.split() for line in done.stdout.splitlines() if "CPU" in line]
    assert row[-2:] == ["0", "1"]


def test_a_kernel_among_several_is_asked_of_the_package_index_as_if_alone(root, index):
    index.add("bloom")
    (root / "pyproject.toml").write_text('[tool.kernelkit]\nwheels = ["bloom==1.0"]\n')
    (root / "kernels/good/n.py").write_text("import bloom\nimport annoy\n")
    several = CliRunner().invoke(check, ["kernels"]).stdout
    for line in CliRunner().invoke(check, ["kernels/good"]).stdout.splitlines()[:-1]:
        assert line in several
    assert "bloom 1.0" in several
    (root / "pyproject.toml").write_text('[tool.kernelkit]\nwheels = ["bloom==2.0"]\n')
    done = CliRunner().invoke(check, ["kernels"])
    assert "bloom==2.0" in done.stdout
    assert "3 of 3 kernels have problems" in done.stderr


def test_the_command_for_other_kernels_names_their_folder(root):
    metadata = (root / "kernels/good/kernel-metadata.json").read_text()
    (root / "kernels/kernel-metadata.json").write_text(metadata)
    (root / "kernels/n.py").write_text("print(1)\n")
    done = CliRunner().invoke(check, ["kernels"])
    assert "are in kernels or below it: `kernelkit check --all kernels` checks all" in done.stdout


def test_each_line_of_json_is_an_object(root):
    done = CliRunner().invoke(check, ["--json", "kernels"])
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (table,) = [event for event in events if event["event"] == "kernels"]
    assert [row["errors"] for row in table["kernels"]] == [1, 0, 1]
    assert events[-1]["exit_code"] == 3


def test_a_job_gets_annotations_and_a_summary(root, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(root / "summary.md"))
    done = CliRunner().invoke(check, [])
    lines = [line for line in done.stderr.splitlines() if line.startswith("::error")]
    assert any(line.startswith("::error file=kernels/wrong/n.py,line=1::") for line in lines)
    assert any("file=kernels/empty/kernel-metadata.json::" in line for line in lines)
    assert "| kernels/wrong | n.py | CPU | 1 | 0 |" in (root / "summary.md").read_text()


def test_what_a_push_attaches_is_a_notice_in_a_job(root, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    attached = Finding("attached", "anna/seeds, which its parameters need")
    annotate([attached, warning("odd"), guess("perhaps")], root / "kernel-metadata.json")
    assert [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "::notice",
        "::warning",
        "::warning",
    ]


def test_with_metadata_of_its_own_a_folder_is_one_kernel(root):
    done = CliRunner().invoke(check, ["kernels/good"])
    assert done.exit_code == 0, done.output
    assert "nothing to correct" in done.output


def test_a_root_with_metadata_says_how_many_kernels_lie_below(root):
    metadata = json.loads((root / "kernels/good/kernel-metadata.json").read_text())
    (root / "kernel-metadata.json").write_text(json.dumps(metadata))
    (root / "n.py").write_text("print(1)\n")
    done = CliRunner().invoke(check, [])
    assert done.exit_code == 0, done.output
    assert (
        "3 other kernels are in this folder or below it: `kernelkit check --all` checks all"
        in done.stdout
    )
    done = CliRunner().invoke(check, ["--all"])
    assert done.exit_code == 3
    assert "2 of 4 kernels have problems: kernels/empty, kernels/wrong" in done.stderr
    (root / "n.py").unlink()
    done = CliRunner().invoke(check, [])
    assert "3 other kernels" in done.stdout
    assert done.exit_code == 2
    done = CliRunner().invoke(check, ["--all", "-p", "x=1"])
    assert "--all checks the kernels of a folder: drop -p" in done.stderr


@pytest.mark.parametrize("target", ["empty", "n.py"])
def test_all_of_what_holds_no_kernel_says_that_none_is_there(tmp_path, target):
    (tmp_path / "empty").mkdir()
    (tmp_path / "n.py").touch()
    done = CliRunner().invoke(check, ["--all", str(tmp_path / target)])
    assert done.exit_code == 2
    assert "--all found no kernel-metadata.json in or below" in done.stderr
    assert "-p" not in done.stderr
