"""Programs that JAX compiled are found by the next process, here and among its inputs."""

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


@pytest.fixture
def run(python):
    def run(folder, inputs, **own):
        own |= {"JAX_PLATFORMS": "cpu", "KERNELKIT_INPUT_ROOT": str(inputs)}
        count, hit = python(CODE, folder, **own).split()
        return int(count), hit == "True"

    return run


def test_compiled_programs_are_found_among_inputs_and_shared_by_the_runs_of_a_sweep(run, tmp_path):
    earlier = tmp_path / "inputs/notebooks/me/mine"
    assert run(earlier, tmp_path / "nothing") == (0, False)
    kept = {"KERNELKIT_KEPT": str(tmp_path / "kept")}
    count, hit = run(tmp_path / "working", tmp_path / "inputs", **kept)
    assert count == sum(1 for _ in earlier.glob("compiled/*")) > 0
    assert hit
    assert not (tmp_path / "working").exists()
