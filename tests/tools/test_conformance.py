"""The page of what the clients' own tests make of the local Kaggle."""

import os
import subprocess
from collections import Counter

import pytest
from click.testing import CliRunner


def test_it_counts_by_family_and_names_what_did_not_pass(tool):
    table = tool("suites/table")["table"]
    models = {"test_a": "passed", "test_b": "failure: no\n  /tmp/some/where/else.py there"}
    models["test_c"] = models["test_b"]
    page = table(
        {"kagglehub": {"models": models}}, Counter({"GetModel": 3, "Download": 1}), ["hub 1.0"]
    )
    assert "This page is of hub 1.0." in page
    assert "## kagglehub: 1 of 3" in page
    assert "| models | 1 | 3 |" in page
    assert "- `test_b`, `test_c`: failure: no … there\n" in page
    assert page.endswith("\n`GetModel`\n")


def test_a_call_passes_only_if_it_ended_well_and_printed_what_it_should(tool):
    outcome = tool("suites/expected")["outcome"]
    status = ["k", "status", "a-developer/exercise-lists"]
    assert outcome(status, 0, 'x has status "KernelWorkerStatus.COMPLETE"\n') == "passed"
    assert outcome(status, 0, 'x has status "KernelWorkerStatus.ERROR"').startswith("printed x has")
    assert outcome(status, 0, "") == "printed nothing"
    assert outcome(status, 1, "Traceback\nno such kernel\n") == "exit code 1: no such kernel"
    assert outcome(["k", "new"], 0, "done") == "nothing is known of what it should print"


def test_the_page_names_the_versions_that_the_sources_name(tool, tmp_path):
    version_of = tool("suites/released")["version_of"]
    package = tmp_path / "src/kagglehub"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "1.0.3"\n')
    assert version_of(tmp_path) == "kagglehub 1.0.3"


def test_of_a_script_that_does_not_end_the_calls_until_then_are_told(tool, tmp_path):
    running = tool("suites/running")
    running["_script"].__globals__["SECONDS"] = 3
    (tmp_path / "tests").mkdir()
    call = '[["--version"], 0, "Kaggle CLI 2.2.5"]'
    script = f"echo '{call}' >> calls.jsonl\nexec sleep 60\n"
    (tmp_path / "tests/test_commands.sh").write_text(script)
    found = running["_script"](tmp_path, dict(os.environ))
    assert found["--version"] == {"0 --version": "passed"}
    assert "did not end" in found["all"]["the calls that follow"]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (
            "import no_such_module_here",
            "cannot import .*No module named 'no_such_module_here'. Inst",
        ),
        ("def test_(:", "cannot import .*SyntaxError"),
        ("x = 1", "finds no tests"),
    ],
)
def test_tests_that_cannot_be_collected_are_one_message(tool, tmp_path, test, message):
    running = tool("suites/running")
    (tmp_path / "test_client.py").write_text(test)
    with pytest.raises(running["NotCollectedError"], match=message):
        running["_pytest"](tmp_path, ["test_client.py"], dict(os.environ))


def test_tests_without_pytest_are_one_message(tool, tmp_path):
    running = tool("suites/running")
    with pytest.raises(running["NotCollectedError"], match="pytest did not start"):
        running["_pytest"](tmp_path, ["test_client.py"], {}, "/bin/false")


def test_sources_that_pip_cannot_fetch_are_one_message(tool, monkeypatch):
    main = tool("suites/__main__")["main"]

    def fail(*_):
        raise subprocess.CalledProcessError(1, ["pip"])

    monkeypatch.setattr(main.callback.__globals__["released"], "fetch", fail)
    done = CliRunner().invoke(main, ["--released"])
    assert done.exit_code == 1
    assert "leave --released out" in done.output
