"""The check that a push to a TPU uses it: Kaggle's TensorFlow sees none, without a word."""

import math
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.code.records import Command, Reading
from kernelkit.push.checks.findings import PROBABLE, Finding, error, guess
from kernelkit.push.checks.locations import at, where
from kernelkit.push.checks.modules import installs
from kernelkit.push.planned.plan import Plan

BACKEND = "KERAS_BACKEND"
USES_TPU = {"jax", "flax", "optax", "torch_xla"}  # what finds the TPU of Kaggle's image
OF_TENSORFLOW = ("TPUClusterResolver", "TPUStrategy")  # TensorFlow's own way to one
KERAS = ("keras", "tensorflow", "tf_keras", "keras_hub", "keras_nlp", "keras_cv")
BRINGS = {"tensorflow-tpu", "tf-nightly-tpu"}  # a TensorFlow which knows the TPU
MAY_BRING = {*BRINGS, "tensorflow", "tf-nightly", "libtpu"}
MEND = (
    "Kaggle's TensorFlow sees no TPU, so this would run on the CPU while TPU hours pass. "
    "Run Keras on JAX: before Keras is imported\n"
    '      import os; os.environ["KERAS_BACKEND"] = "jax"\n'
    "    and in place of the strategy\n"
    "      keras.distribution.set_distribution(keras.distribution.DataParallel())\n"
    "    Or, if the code has a strategy without a TPU, too: --accelerator gpu"
)


def machine_use(plan: Plan) -> Iterator[Finding]:
    """A push to a TPU whose code cannot find the TPU.

    It is a guess where the code may install another TensorFlow: it installs files or one that is
    not known to find the TPU, or below a condition.
    """
    if plan.kind != "tpu" or _brings_tensorflow(plan):
        return
    if any(_finds_tpu(program) for program in plan.bundle.programs):
        return
    strategies = []
    for program in plan.bundle.programs:
        for place, call in program.calls:
            if any(part in OF_TENSORFLOW for part in call.name.replace("()", "").split(".")):
                strategies.append((place, call.line))
    if strategies:
        text = f"{where(strategies)} looks for the TPU with TensorFlow: {MEND}"
        yield guess(text, PROBABLE) if _may_bring(plan) else error(text)
        return
    place = _first_keras(plan)
    if place:
        yield guess(
            f"{place} imports TensorFlow or Keras, and nothing imports JAX or sets {BACKEND}=jax "
            "before: Kaggle's TensorFlow sees no TPU, and this may run on the CPU",
            PROBABLE,
        )


def _brings_tensorflow(plan: Plan) -> bool:
    """Whether code or the project's wheels install a TensorFlow that knows the TPU, by its name."""
    wheels = plan.project.wheels
    names: set[str] = {canonicalize_name(Requirement(wheel).name) for wheel in wheels}
    for command in _commands(plan):
        if not command.guarded:
            names |= installs.of_command(command).packages
    return not BRINGS.isdisjoint(names)


def _may_bring(plan: Plan) -> bool:
    """Whether code may install a TensorFlow that knows the TPU."""
    for command in _commands(plan):
        install = installs.of_command(command)
        if install.may_be_any or not MAY_BRING.isdisjoint(install.packages):
            return True
    return False


def _commands(plan: Plan) -> Iterator[Command]:
    for _, reading in plan.bundle.readings:
        yield from reading.commands


def _finds_tpu(program: Program) -> bool:
    """Whether a program imports what finds the TPU, or has JAX as the backend of Keras.

    A backend that is set after Keras was imported is none.
    """
    is_keras_imported = False
    for _, reading in program.sources:
        if not USES_TPU.isdisjoint(_imported(reading)):
            return True
        if any(map(_starts_with_jax, reading.commands)):
            return True
        first = min(_lines_of_keras(reading), default=math.inf)
        for variable in reading.environment:
            is_jax = variable.name == BACKEND and variable.value in ("jax", None)
            if is_jax and not is_keras_imported and variable.line < first:
                return True
        is_keras_imported = is_keras_imported or math.isfinite(first)
    return False


def _starts_with_jax(command: Command) -> bool:
    """Whether a command starts a process that has JAX as the backend of Keras."""
    for word in command.words:
        name, _, value = word.partition("=")
        if name == BACKEND and (value == "jax" or value.startswith(("{", "$"))):
            return True
    return False


def _first_keras(plan: Plan) -> str:
    """Where TensorFlow or Keras is first imported; empty if nowhere."""
    for place, reading in plan.bundle.readings:
        lines = _lines_of_keras(reading)
        if lines:
            return at(place, min(lines))
    return ""


def _lines_of_keras(reading: Reading) -> list[int]:
    return [line for top, line in _imported(reading).items() if top in KERAS]


def _imported(reading: Reading) -> dict[str, int]:
    """The line in which each top-level module is first imported."""
    lines: dict[str, int] = {}
    for each in reading.imports:
        if each.top:
            lines.setdefault(each.top, each.line)
    return lines
