"""The project's command that compiles runs no longer than the command that started it."""

import signal
import subprocess
import sys

import psutil
import pytest

from kernelkit import errors
from kernelkit.project import find_project
from kernelkit.tpu.compiler.compiling import compile_programs

COMPILING = """\
import json, os, time
print(json.dumps({"event": "compiling", "program": str(os.getpid())}), flush=True)
time.sleep(600)
"""
CHECK = (
    "import sys; from pathlib import Path; from kernelkit.project import find_project; "
    "from kernelkit.tpu.compiler.compiling import compile_programs; "
    "tell = lambda event, text: print(text, flush=True); "
    "compile_programs(find_project(Path.cwd()), Path(sys.executable), {}, tell)"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_compiler_ends_with_a_command_that_is_killed(garden, number):
    (garden.package / "compile.py").write_text(COMPILING)
    with subprocess.Popen(
        [sys.executable, "-c", CHECK],
        cwd=garden.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as command:
        compiler = psutil.Process(int(command.stdout.readline().split()[-1]))
        command.send_signal(number)
    psutil.wait_procs([compiler], timeout=20)
    assert not compiler.is_running()


def test_a_command_that_does_not_exist_is_named(garden):
    file = garden.root / "pyproject.toml"
    file.write_text(file.read_text().replace("python -m blossom.compile", "no-such-compiler"))
    with pytest.raises(errors.RunFailedError, match=r"could not be started: .*no-such-compiler"):
        compile_programs(find_project(garden.root), sys.executable, {}, print)
