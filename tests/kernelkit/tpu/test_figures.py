"""Bounds, sentences and findings from what a compiler said."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.tpu.chips import machine_named
from kernelkit.tpu.figures import CompiledProgram

# EfficientNetB7 at 512 px, batch 128, as libtpu 0.0.42 compiled it
LARGE = {
    "program": "training step",
    "images": 128,
    "fits": True,
    "seconds": 700.0,
    "steps": 99,
    "parameters_bytes": 2**28,
    "optimizer_bytes": 2**29,
    "working_bytes": 10 * 2**30,
    "code_bytes": 10**6,
    "peak_bytes": round(11.1 * 2**30),
    "flops": 2_912_000_000_000,
    "bytes": 162_000_000_000,
    "collectives": [
        {"kind": "all-reduce", "cause": "gradients", "bytes": 128e6},
    ],
    "float32_convolutions": [],
}
REFUSED = {
    "program": "training step",
    "fits": False,
    "message": "RESOURCE_EXHAUSTED: Ran out of memory on HBM",
    "needed_bytes": 28261384888,
    "available_bytes": 16911433728,
}


def of(facts, **changes):
    return CompiledProgram({**facts, **changes}, machine_named("v5e-8"))


def test_a_program_that_fits_is_told_with_its_memory_bound_and_exchange():
    lines = list(of(LARGE).lines())
    assert lines[0] == "training step, 128 images: fits, 11.10 GiB of 16 GiB a chip at peak"
    assert "parameters 0.25 GiB, optimizer 0.50 GiB, activations and buffers 10.00 GiB" in lines[1]
    assert "at best 198 ms (14.8 ms by FLOPs, 198 ms by memory), 647 images/s" in lines[2]
    assert lines[3].strip() == "an epoch of 99 steps: at best 19.6 s"
    assert lines[4].strip() == "all-reduce of gradients 0.12 GiB"
    assert lines[5] == "compiled in 11 min 40 s"
    assert of(LARGE, flops=10**14).binds == "FLOPs"


def test_the_compilers_own_estimate_stands_beside_the_bound():
    lines = list(of(LARGE, cycles=450_000_000).lines())
    assert lines[3].strip() == (
        "by the compiler's own estimate 299 ms a step, 428 images/s, without input and exchange"
    )
    assert lines[4].strip() == "an epoch of 99 steps: at best 19.6 s, as estimated 29.6 s"
    unknown = CompiledProgram({**LARGE, "cycles": 1}, machine_named("v6e-8"))
    assert unknown.estimate == 0


def test_a_refusal_is_told_with_its_figure_and_the_compilers_words():
    lines = list(of(REFUSED).lines())
    assert lines[0].startswith(
        "training step: does not fit: it needs 26.32 GiB a chip and has 15.75"
    )
    assert lines[0].endswith(REFUSED["message"])
    other = {name: REFUSED[name] for name in ("program", "fits", "message")}
    assert next(of(other).lines()).startswith("training step: refused by the compiler. The comp")


def test_a_gathered_batch_and_float32_are_findings():
    gathered = {"kind": "all-gather", "cause": "mix/gather", "bytes": 28e6}
    more = {"collectives": [*LARGE["collectives"], gathered], "float32_convolutions": ["stem", "b"]}
    first, second = of(LARGE, **more).warnings()
    assert "28.0 MB in an all-gather of mix/gather, which" in first
    assert second == "training step: 2 convolutions in float32, such as stem"
    assert list(of(LARGE).warnings()) == []


def test_machines_are_found_by_both_names():
    assert machine_named("TpuV6E8") is machine_named("v6e-8")
    with pytest.raises(ParameterError, match="v5e-8, v6e-8 or v3-8"):
        machine_named("v4-8")
