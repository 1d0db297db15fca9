"""A push asks the TPU's compiler before it spends quota, or tells what was said last time."""

import io

import pytest

from kernelkit import errors
from kernelkit.push.checked.check_push import check_push
from kernelkit.push.checked.checked_plan import checked_plan
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.tpu.check import check_tpu
from kernelkit.tpu.compiler import environment

from .conftest import PARAMETERS


def checked(garden, *parameters):
    """What a check says: nothing is sent, and nobody is asked."""
    garden.stream = io.StringIO()
    request = PushRequest.of(None, parameters, metadata=garden.metadata)
    checked_plan(PushContext.in_project(request.project, stream=garden.stream), request)
    return garden.message


def test_with_the_setting_a_program_that_does_not_fit_stops_every_push(garden):
    garden.configure("before_push = true\n")
    with pytest.raises(errors.DoesNotFitError, match="refused by the compiler of a v5e-8"):
        checked(garden, "batch_size=40")
    assert "needs 20.00 GiB a chip" in garden.message
    with pytest.raises(errors.DoesNotFitError):
        garden.push("batch_size=40")
    checked(garden)


def test_a_kernel_among_several_is_compiled_as_if_alone(garden, capsys):
    check_push(garden.metadata.parent, every=True)
    assert "was not checked with the TPU's compiler" in capsys.readouterr().out
    garden.configure("before_push = true\n")
    check_push(garden.metadata.parent, every=True)
    assert len(garden.asked()) == 1


def test_without_it_the_preflight_tells_of_the_last_check(garden):
    assert "was not checked with the TPU's compiler" in checked(garden)
    assert garden.asked() == []
    check_tpu(garden.notebook, quiet=True)
    assert "checked with libtpu 2 on " in checked(garden)
    assert "it fits a v5e-8" in garden.message
    with pytest.raises(errors.DoesNotFitError):
        check_tpu(garden.notebook, ["batch_size=48"], quiet=True)
    assert "does not fit: it needs 24.00 GiB a chip" in checked(garden, "batch_size=48")
    assert len(garden.asked()) == 2
    (garden.package / "petals.py").write_text("F1 = 0.76\n")
    assert "before the sources changed: it fits a v5e-8" in checked(garden)
    assert "sources changed: training step: does not fit" in checked(garden, "batch_size=48")


def test_the_last_check_counts_by_whichever_compiler(garden, monkeypatch):
    monkeypatch.setattr(environment, "libtpu_folder", lambda *_: garden.root / "other")
    path = garden.package / "compile.py"
    version = '"libtpu": "0.9" if "other" in os.environ["PYTHONPATH"] else "2"'
    path.write_text("import os\n" + path.read_text().replace('"libtpu": "2"', version))
    check_tpu(garden.notebook, quiet=True)
    check_tpu(garden.notebook, libtpu="0.9", quiet=True)
    assert "checked with libtpu 0.9 on " in checked(garden)
    check_tpu(garden.notebook, libtpu="0.9", quiet=True)
    assert len(garden.asked()) == 2
    check_tpu(garden.notebook, quiet=True)  # what one compiler says is not what the other says
    assert len(garden.asked()) == 3


def test_a_check_that_compiles_tells_of_no_other_compilers_check(garden, monkeypatch, capsys):
    monkeypatch.setattr(environment, "libtpu_folder", lambda *_: garden.root / "other")
    garden.configure("before_push = true\n")
    check_push(garden.notebook, tpu=True)
    assert "was not checked" not in capsys.readouterr().out
    check_push(garden.notebook, tpu=True, libtpu="0.9")
    told = capsys.readouterr().out
    assert "nothing changed since" not in told
    assert told.count("training step, ") == 1
    assert len(garden.asked()) == 2


@pytest.mark.usefixtures("quick_sessions")
def test_a_run_is_compared_with_the_compilers_estimate(garden, serve):
    run = (
        "import json, pathlib\n"
        "device = {'kind': 'tpu', 'name': 'TPU v5 lite', 'peak_bytes': 9 * 2**30,\n"
        "          'trace_seconds': 95.0, 'compile_seconds': 300.0}\n"
        "versions = {'jax': '1', 'libtpu': '3'}\n"
        "facts = {'device': device, 'step_seconds': 0.04, 'versions': versions}\n"
        "pathlib.Path('metrics.json').write_text(json.dumps(facts))"
    )
    garden.sources(run, parameters=PARAMETERS)
    check_tpu(garden.notebook, ["recomputes=true"], quiet=True)
    serve()
    garden.push("recomputes=true")
    assert (
        "40 ms per step with its input, 21.3 ms by the estimate of libtpu 2: 1.9 times; 9.00 GiB "
        "a chip at peak, compiled for 8.00 GiB; traced in 95 s, compiled in 5 min 0 s"
    ) in garden.message
    assert "the session compiled with libtpu 3, and the estimate is by libtpu 2" in garden.message
    assert "--libtpu 3" in garden.message


def test_another_machine_has_nothing_to_check(garden):
    garden.on_cpu()
    garden.configure("before_push = true\n")
    assert "compiler" not in checked(garden)
