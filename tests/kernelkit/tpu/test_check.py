"""From a notebook to what the compiler says, through a stand-in for the project's command."""

import io
import json

import pytest

from kernelkit import errors
from kernelkit.tpu.check import check_tpu


def check(garden, *parameters, **options):
    """(events by name, all events in order) of one check."""
    stream = io.StringIO()
    try:
        check_tpu(garden.notebook, parameters, as_json=True, stream=stream, **options)
    finally:
        garden.events = [json.loads(line) for line in stream.getvalue().splitlines()]
    return {event["event"]: event for event in garden.events}


def test_a_run_that_fits_is_told_with_its_bound(garden):
    events = check(garden)
    assert events["compiler"]["text"] == "jax 1, libtpu 2, for 8 × TPU"
    program = events["program"]
    assert program["images"] == 128
    assert program["binds"] == "memory"
    assert program["bound_seconds"] == pytest.approx(10**10 / 819e9)
    (request,) = garden.asked()
    assert request["parameters"] == {"batch_size": 16, "accelerator": "tpu", "recomputes": False}
    assert request["chips"]["topology"] == "v5e:2x4"


def test_a_second_check_is_found_by_content(garden):
    check(garden)
    assert "nothing changed since" in check(garden)["checked"]["text"]
    check(garden, "accelerator=tpu")  # as the push of it
    assert len(garden.asked()) == 1
    check(garden, "batch_size=24")
    check(garden, machine="v6e-8")
    (garden.package / "petals.py").write_text("F1 = 0.76\n")
    check(garden)
    (garden.root / "tpu.lock").write_text("jax==2\n")
    check(garden)
    assert len(garden.asked()) == 5


def test_the_largest_batch_is_searched_for(garden):
    found = check(garden, largest_batch=True)
    assert found["largest"]["fastest"] == 32  # without estimates no smaller one is better
    assert found["largest"]["text"] == "batch_size=32 fits; batch_size=40 does not fit"
    tried = [event["batch"] for event in garden.events if event["event"] == "tried"]
    assert tried == [16, 32, 40]  # it takes half a gigabyte an image, and 16 are there
    assert all(request["programs"] == ["training step"] for request in garden.asked())


def test_a_faster_batch_than_the_largest_is_named(garden):
    found = check(garden, "recomputes=true", largest_batch=True)
    assert found["largest"]["text"] == (
        "batch_size=32 fits; batch_size=40 does not fit. By the compiler's estimate batch_size=16 "
        "is faster: 6,012 images/s for 4,008"
    )
    tried = [event["text"] for event in garden.events if event["event"] == "tried"]
    assert tried[0].endswith("; 6,012 images/s as estimated")
    assert "estimated" not in tried[-1]  # it does not fit


@pytest.mark.parametrize(
    ("parameter", "error", "message"),
    [
        ("bach_size=16", errors.ParameterError, "no parameter 'bach_size'"),
        ("batch_size=13", errors.ParameterError, "13 brings bad luck"),
        ("batch_size=14", errors.RunFailedError, r"exit code 1\n    no such luck"),
        ("batch_size=15", errors.RunFailedError, "killed the compiler, most likely because memory"),
        ("batch_size=17", errors.RunFailedError, "the compiler was ended by SIGSEGV"),
    ],
)
def test_what_stops_the_compiler_is_told(garden, parameter, error, message):
    with pytest.raises(error, match=message):
        check(garden, parameter)


def test_a_project_without_the_command_says_where_it_belongs(repository):
    with pytest.raises(errors.PreflightError, match=r"\[tool.kernelkit.tpu\]"):
        check_tpu(repository.notebook)
