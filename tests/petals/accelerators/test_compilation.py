"""Programs that JAX compiled are found by the next process, here and among its inputs."""

import os
import subprocess
import sys

import pytest

jax = pytest.importorskip("jax")

CODE = """
import sys
from petals.accelerators import compilation
print(compilation.keep(sys.argv[1]))
import jax
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
jax.jit(lambda x: x @ x + 1)(jax.numpy.ones((8, 8))).block_until_ready()
print(sum(name.endswith("cache_hits") for name in hits) > 0)
facts = compilation.facts()
assert facts["trace_seconds"] > 0 < facts["compile_seconds"] < 60, facts
compilation.keep(sys.argv[1])
assert compilation.facts() == facts
"""


def run(folder, inputs, **more):
    own = {"JAX_PLATFORMS": "cpu", "KERNELKIT_INPUT_ROOT": str(inputs)} | more
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | own,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    there, hit = done.stdout.split()
    return int(there), hit == "True"


@pytest.mark.long
def test_compiled_programs_are_found_in_the_folder_and_among_inputs(tmp_path):
    nothing = tmp_path / "nothing"
    earlier = tmp_path / "inputs/notebooks/me/mine"
    assert run(earlier, nothing) == (0, False)
    there, hit = run(earlier, nothing)
    assert there > 0
    assert hit
    copied, hit = run(tmp_path / "working", tmp_path / "inputs")
    assert copied == there
    assert hit


def test_the_runs_of_a_sweep_share_what_was_compiled(tmp_path):
    kept = str(tmp_path / "kept")
    assert run(tmp_path / "first", tmp_path / "nothing", KERNELKIT_KEPT=kept) == (0, False)
    there, hit = run(tmp_path / "second", tmp_path / "nothing", KERNELKIT_KEPT=kept)
    assert there > 0
    assert hit
    assert not (tmp_path / "second").exists()
