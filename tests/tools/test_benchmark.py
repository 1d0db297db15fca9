"""The benchmarks are all there, and what they measure elsewhere is what is reported."""

import importlib
import inspect

import pytest


@pytest.fixture
def benchmarks(tool):
    """Imports a module of `benchmarks`, which lies beside the tools."""
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def test_every_name_is_a_benchmark(benchmarks, tool):
    names = tool("benchmark")["NAMES"]
    assert len(names) > 5
    for name in names:
        run = benchmarks(name).run
        needed = [p for p in inspect.signature(run).parameters.values() if p.default is p.empty]
        assert {p.name for p in needed} <= {"photos", "weights", "python"}
        assert run.__doc__


def test_the_committed_table_is_that_of_the_committed_rows(benchmarks):
    tpu = benchmarks("tpu")
    assert tpu.table(tpu.read()) in tpu.PAGE.read_text()
