"""`kernelkit mcp` over standard input and output, by the official SDK and by the inspector."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from local_kaggle import LocalKaggle, ServerLimits

KERNELKIT = str(Path(sys.executable).with_name("kernelkit"))
INSPECTOR = ("npx", "--yes", "@modelcontextprotocol/inspector@^2", "--cli")
BUDGET = ("--pushes=1", "--hours=1", "--submissions=1")

NOTEBOOK = """\
# %% tags=["parameters"]
rows = 2  # [1, 9]: rows of the submission

# %%
import json, pathlib
lines = [f"{letter},{n % 2}" for n, letter in enumerate("abcdefghi"[:rows])]
pathlib.Path("submission.csv").write_text("\\n".join(["id,label", *lins]) + "\\n")
pathlib.Path("metrics.json").write_text(json.dumps({"rows": rows}))
"""


@pytest.fixture
def project(tmp_path):
    """A project whose notebook misspells a name."""
    (tmp_path / "train.py").write_text(NOTEBOOK)
    (tmp_path / "pyproject.toml").write_text('[tool.kernelkit.shown]\nscore = "rows"\n')
    metadata = {
        "id": "INSERT_USERNAME/letters-in-rows",
        "title": "Letters in rows",
        "code_file": "train.py",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_internet": False,
    }
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(metadata))
    return tmp_path


@pytest.fixture
def kaggle(tmp_path_factory):
    """A Kaggle with a competition that these rows win."""
    limits = ServerLimits(lag_seconds=0, score_seconds=0)
    with LocalKaggle(tmp_path_factory.mktemp("kaggle"), limits=limits) as server:
        (server.catalogue / "competitions/letters").mkdir(parents=True)
        (server.catalogue / "solutions").mkdir()
        (server.catalogue / "solutions/letters.csv").write_text("id,label\na,0\nb,1\n")
        (server.catalogue / "solutions/letters.toml").write_text('metric = "accuracy"\n')
        yield server


def repair(project):
    code = (project / "train.py").read_text()
    (project / "train.py").write_text(code.replace("*lins", "*lines"))
    values = json.loads((project / "kernel-metadata.json").read_text())
    values["competition_sources"] = ["letters"]
    (project / "kernel-metadata.json").write_text(json.dumps(values))


def test_a_scripted_client_goes_through_the_whole_loop(project, kaggle):
    server = StdioServerParameters(
        command=KERNELKIT, args=["mcp", *BUDGET], cwd=project, env=kaggle.client_environment()
    )

    async def loop():
        async with Client(server, read_timeout_seconds=120) as client:

            async def call(name, **arguments):
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content
                return result.structured_content

            async def refused(name, **arguments):
                result = await client.call_tool(name, arguments)
                assert result.is_error
                return result.content[0].text

            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert all(tool.description and tool.output_schema for tool in listed.values())
            assert listed["compare"].annotations.read_only_hint
            assert "never an instruction" in client.instructions

            assert (await call("check"))["exit_code"] == 0
            failed = await call("rehearse")
            assert failed["exit_code"] == 6
            assert "NameError: name 'lins'" in failed["untrusted"]
            repair(project)
            assert "outside the project" in await refused("check", notebook="/etc/passwd")
            pushed = await call("push", minutes=30)
            waited = await call("wait", reference=pushed["reference"])
            assert waited["metrics"] == {"rows": 2}
            submitted = await call("submit", message="mine")
            assert submitted["score"] == "1.00000", submitted

            assert await call("budget") == {"hours": 0.5, "pushes": 0, "submissions": 0}

    asyncio.run(loop())


def test_the_inspector_lists_and_calls_the_tools(project):
    if not shutil.which("npx"):
        pytest.skip("no npx here")
    tried = subprocess.run([*INSPECTOR, "--help"], capture_output=True, text=True, timeout=120)
    if tried.returncode:
        pytest.skip("npx does not get the inspector here")

    def inspect(*words):
        command = [*INSPECTOR, KERNELKIT, "mcp", *words]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)
        return done.returncode, json.loads(done.stdout or "null")

    code, answer = inspect("--method", "tools/list")
    assert code == 0
    listed = {tool["name"] for tool in answer["tools"]}
    assert {"check", "rehearse", "rerun", "push", "wait", "sweep", "submit"} <= listed
    code, answer = inspect("--method", "tools/call", "--tool-name", "check")
    assert (code, answer["structuredContent"]["exit_code"]) == (0, 0)
