"""02_train's programs through the TPU's own compiler: `make test-tpu`."""

import json
import os
import re
import subprocess
import sys

import pytest
from checkouts import ROOT

from kernelkit.project import find_project
from kernelkit.tpu.check import values_of
from kernelkit.tpu.chips import machine_named
from kernelkit.tpu.compiler import environment
from kernelkit.tpu.compiler.compiling import compile_programs
from kernelkit.tpu.tpu_run import CHIPS

NOTEBOOK = ROOT / "notebooks" / "02_train.ipynb"
SMALL = {"backbone": "SmallNet", "weights": "none", "fine_tune": "all", "image_size": 64}
PROJECT = find_project(NOTEBOOK)
TPU = machine_named("v5e-8")
CHIPS_OF_TPU = {name: getattr(TPU, name) for name in CHIPS}


def told(event, text="", **facts):
    print(event, text)


@pytest.fixture(scope="module")
def python():
    return environment.python_of(PROJECT, told)


@pytest.fixture(scope="module")
def compile_for(python):
    """Compile some of a run's programs; their facts by name."""

    def run(*programs, **parameters):
        values = values_of(PROJECT, NOTEBOOK, SMALL | parameters)
        request = {"parameters": values, "chips": CHIPS_OF_TPU, "programs": programs}
        return {one["program"]: one for one in compile_programs(PROJECT, python, request, told)}

    return run


@pytest.mark.tpu
def test_small_net_fits_and_its_chips_exchange_the_gradients(compile_for):
    facts = compile_for("training step", dtype="float32")["training step"]
    assert facts["fits"]
    assert facts["images"] == 8 * 8  # of eight chips
    exchanged = {one["cause"]: one["bytes"] for one in facts["collectives"]}
    assert 0.99 < exchanged["gradients"] / (4 * facts["parameters"]) < 1.01
    assert facts["float32_convolutions"]
    assert facts["bytes"] > 0
    assert facts["parameters_bytes"] < facts["peak_bytes"] < TPU.hbm
    assert [one["kind"] for one in facts["collectives"] if one["kind"] != "all-reduce"] == []


@pytest.mark.tpu
def test_a_batch_that_cannot_fit_is_refused_with_its_figure(compile_for):
    # A prediction is refused in seconds; libtpu 0.0.17 needs minutes for a training step.
    facts = compile_for("prediction", batch_size=65536, image_size=192)["prediction"]
    assert not facts["fits"]
    assert facts["reason"] == "memory"
    assert facts["needed_bytes"] > facts["available_bytes"] > 15 * 2**30


LOWER = """\
import json, sys
from petals.ahead_of_time.check import Compiler, prepare_environment
request = json.loads(sys.argv[1])
prepare_environment(request["chips"])
compiler = Compiler(request["chips"])
from petals.accelerators import keras_backend
keras_backend.choose(keras_backend.JAX)
from dataclasses import replace
from petals.accelerators.detect import Accelerator
from petals.ahead_of_time import programs
from petals.errors import SettingError
device = programs.device_for(8, "TPU", request["parameters"])
device = replace(device, rehearsal=True)
shapes = {}
for program in programs.of_run(request["parameters"], device):
    shapes[program.name] = [[list(one.shape), str(one.dtype)] for one in program.batch]
    if program.name == "prediction":
        try:
            compiler.lower(replace(program, images=12))
        except SettingError as error:
            shapes["refused"] = str(error)
print(json.dumps(shapes))
"""


AUGMENTING = """\
import json, sys
import numpy as np
from petals.ahead_of_time.check import Compiler, placed, prepare_environment
chips = json.loads(sys.argv[1])
prepare_environment(chips)
compiler = Compiler(chips)
import jax
from jax import ShapeDtypeStruct as Shape
from petals.augment.augmentation import augmentation
from petals.augment.draws import COLUMNS
change = augmentation(*sys.argv[2:])
images = placed(Shape((128, 192, 192, 3), np.uint8), compiler._shared)
changes = placed(Shape((128, len(COLUMNS)), np.float32), compiler._shared)
step = jax.jit(lambda x, y: change.apply(x, y, dense=True, dtype="bfloat16"))
from petals.ahead_of_time.hlo import CompiledText
print(CompiledText(step.lower(images, changes).compile().as_text()).cost().hbm_bytes)
"""


@pytest.fixture
def printed(python):
    """Runs a program in the environment of the compiler; gives its last line as JSON."""

    def printed(code, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [python, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return printed


@pytest.mark.tpu
def test_augmentation_takes_a_twentieth_of_a_step_at_most(printed):
    step = json.loads((ROOT / "docs/tpu.json").read_text())["EfficientNetB0-192-0.0.17"]
    assert step["images"] == 128
    moved = printed(AUGMENTING, json.dumps(CHIPS_OF_TPU), "strong", "cutmix")
    assert moved < 0.05 * step["bytes"]


@pytest.fixture
def settings(competition):
    """A short run on a few pictures of three classes, eight of them a step."""
    few = {
        "image_size": 192,
        "data": str(competition),
        "epochs": 1,
        "batch_size": 1,
        "augment": "none",
        "head": "logistic",
    }
    return SMALL | few


@pytest.fixture
def shapes(printed, settings):
    """The batches of each program of the check, at the sizes of a rehearsal."""
    values = values_of(PROJECT, NOTEBOOK, settings)
    return printed(LOWER, json.dumps({"parameters": values, "chips": CHIPS_OF_TPU}))


STEP = re.compile(r"Compiling jit\((\w+_step)\) with global shapes and types (.*?)\. Argument")
ARRAY = re.compile(r"ShapedArray\((\w+)\[([\d,]*)\]")


def rehearsed(settings, folder):
    """{(function, batches)} of what JAX compiles for eight CPU devices in a run of 02_train."""
    words = ["-m", "kernelkit", "run", str(NOTEBOOK), "--no-report", "--output", folder]
    for name, value in settings.items():
        words += ["-p", f"{name}={value}"]
    devices = {
        "KAGGLE_REHEARSAL": "tpu",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_LOG_COMPILES": "1",
    }
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, env=os.environ | devices
    )
    assert done.returncode == 0, done.stderr[-2000:]
    log = "".join(path.read_text() for path in folder.rglob("*.ipynb"))
    found = set()
    for name, arrays in STEP.findall(log):
        shapes = [
            (tuple(map(int, filter(None, dimensions.split(",")))), dtype)
            for dtype, dimensions in ARRAY.findall(arrays)
        ]
        found.add((name, tuple(shapes[-2:] if name == "train_step" else shapes[-1:])))
    return found


@pytest.mark.tpu
@pytest.mark.timeout(900)
def test_each_program_of_a_rehearsal_has_its_counterpart(shapes, settings, tmp_path):
    refused = shapes.pop("refused")
    assert refused == (
        "prediction: a batch of 12 images cannot be shared by 8 devices: give a multiple of 8"
    )
    checked = {
        (
            "train_step" if "training" in name else "predict_step",
            tuple((tuple(shape), dtype) for shape, dtype in batches),
        )
        for name, batches in shapes.items()
    }
    assert len(checked) == 3
    assert rehearsed(settings, tmp_path / "run") == checked
