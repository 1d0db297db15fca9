"""A repository whose programs a stand-in compiles: batches over 32 do not fit."""

import json
import sys
from pathlib import Path

import pytest

from kernelkit.tpu.compiler import environment

COMPILE = """\
import json, os, pathlib, signal, sys
request = json.loads(sys.stdin.read())
with open("asked.jsonl", "a") as file:
    file.write(json.dumps(request) + "\\n")
def tell(**event):
    print(json.dumps(event), flush=True)
print("a library's own words")
batch = request["parameters"]["batch_size"]
if batch == 13:
    tell(event="error", kind="SettingError", text="13 brings bad luck: give 16")
    sys.exit(2)
if batch == 14:
    sys.exit("no such luck")
if batch == 15:
    os.kill(os.getpid(), signal.SIGKILL)
if batch == 17:
    os.kill(os.getpid(), signal.SIGSEGV)
tell(event="environment", devices=8, name="TPU", versions={"jax": "1", "libtpu": "2"})
tell(event="compiling", program="training step")
facts = {"program": "training step", "images": 8 * batch, "seconds": 1.5, "steps": 10}
if batch > 32:
    facts |= {"fits": False, "message": "RESOURCE_EXHAUSTED: Ran out", "reason": "memory",
              "needed_bytes": batch * 2**29, "available_bytes": 15 * 2**30}
else:
    facts |= {"fits": True, "message": "", "peak_bytes": batch * 2**29, "flops": 10**12,
              "bytes": 10**10, "collectives": [], "float32_convolutions": []}
    if request["parameters"]["recomputes"]:  # what the batch of 32 computes twice to fit
        facts["cycles"] = batch * (2e6 if batch < 32 else 3e6)
tell(event="program", **facts, versions={"jax": "1", "libtpu": "2"})
"""
SETTINGS = """
[tool.kernelkit.tpu]
command = "python -m blossom.compile"
requirements = "tpu.lock"
note = "3 GB of somebody's compiler"
batch = "batch_size"
"""
PARAMETERS = """\
batch_size = 16  # >= 1: images for each replica
accelerator = "auto"  # auto | tpu | gpu | cpu: what to run on
recomputes = False  # whether the largest batch fits only so
"""


@pytest.fixture
def garden(repository, monkeypatch):
    """The repository, with a command that compiles; `asked()` is what it was asked for so far."""
    repository.configure(SETTINGS)
    (repository.root / "tpu.lock").write_text("jax==1\n")
    (repository.package / "compile.py").write_text(COMPILE)
    repository.sources("1 + 1", parameters=PARAMETERS)
    monkeypatch.setattr(environment, "python_of", lambda project, tell: Path(sys.executable))

    def asked():
        file = repository.root / "asked.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    repository.asked = asked
    return repository
