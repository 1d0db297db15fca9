"""The tool as a process."""

import json
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, str(ROOT / "tools" / "report.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def busy():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_comes_at_once():
    began = busy()
    assert "--index" in run("--help").stdout
    assert busy() - began < 0.5


def test_an_index_is_written_and_named(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.json").write_text(json.dumps({"macro_f1": 0.5}))
    done = run(tmp_path, "--index")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "index.html") in done.stdout.replace("\n", "")
    assert '"report": "a/report.html"' in (tmp_path / "index.html").read_text()


def test_a_wrong_path_has_one_message_and_code_2(tmp_path):
    for arguments in ([tmp_path / "nowhere"], [tmp_path], []):
        done = run(*arguments)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
