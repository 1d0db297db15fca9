"""The check that a push to a TPU uses it: Kaggle's TensorFlow sees none, without a word."""

from collections.abc import Iterator

from kernelkit.notebook.code import shell
from kernelkit.notebook.code.records import Command, Reading
from kernelkit.push.checks.code import installs
from kernelkit.push.checks.code.locations import at, several
from kernelkit.push.checks.findings import PROBABLE, Finding, error, guess
from kernelkit.push.planned.plan import Plan

BACKEND = "KERAS_BACKEND"
USES_TPU = ("jax", "flax", "optax", "torch_xla")  # what finds the TPU of Kaggle's image
OF_TENSORFLOW = ("TPUClusterResolver", "TPUStrategy")  # TensorFlow's own way to one
KERAS = ("keras", "tensorflow", "tf_keras", "keras_hub", "keras_nlp", "keras_cv")
# What an install names that may bring a TensorFlow which knows the TPU.
BRINGS = {"tensorflow", "tensorflow-tpu", "tf-nightly", "tf-nightly-tpu", "libtpu"}
MEND = (
    "Kaggle's TensorFlow sees no TPU, so this would run on the CPU while TPU hours pass. "
    "Run Keras on JAX: before Keras is imported\n"
    '      import os; os.environ["KERAS_BACKEND"] = "jax"\n'
    "    and in place of the strategy\n"
    "      keras.distribution.set_distribution(keras.distribution.DataParallel())"
)


def machine_use(plan: Plan) -> Iterator[Finding]:
    """A push to a TPU whose code goes a way on which there is none."""
    if plan.kind != "tpu" or _may_use_tpu(plan):
        return
    strategies = []
    for program in plan.bundle.programs:
        for place, call in program.calls:
            if any(part in OF_TENSORFLOW for part in call.name.replace("()", "").split(".")):
                strategies.append(at(place, call.line))
    if strategies:
        yield error(f"{several(strategies)} looks for the TPU with TensorFlow: {MEND}")
        return
    place = _keras(plan)
    if place:
        yield guess(
            f"{place} imports TensorFlow or Keras, and nothing imports JAX or sets {BACKEND}=jax "
            "before: Kaggle's TensorFlow sees no TPU, and this may run on the CPU",
            PROBABLE,
        )


def _may_use_tpu(plan: Plan) -> bool:
    """Whether anything that runs finds the TPU, or brings what may."""
    if plan.project.wheels:
        return True
    for program in plan.bundle.programs:
        has_keras = False
        for _, reading in program.sources:
            lines = _imported(reading)
            if any(top in USES_TPU for top in lines):
                return True
            if any(map(_brings_backend, reading.commands)):
                return True
            keras = [line for top, line in lines.items() if top in KERAS]
            for variable in reading.environment:
                before = not has_keras and all(variable.line < line for line in keras)
                if variable.name == BACKEND and variable.value in ("jax", None) and before:
                    return True
            has_keras = has_keras or bool(keras)
    return False


def _brings_backend(command: Command) -> bool:
    """Whether a command installs what may know the TPU, or starts something with a backend."""
    words = shell.plain(command.words).split()
    if any(word.startswith(f"{BACKEND}=") for word in words):
        return True
    install = installs.of_command(command)
    return install.may_be_any or not BRINGS.isdisjoint(install.packages)


def _keras(plan: Plan) -> str:
    """Where TensorFlow or Keras is first imported; empty if nowhere."""
    for place, reading in plan.bundle.readings:
        lines = [line for top, line in _imported(reading).items() if top in KERAS]
        if lines:
            return at(place, min(lines))
    return ""


def _imported(reading: Reading) -> dict[str, int]:
    """The line in which each top-level module is first imported."""
    lines: dict[str, int] = {}
    for each in reading.imports:
        if not each.level:
            lines.setdefault(each.name.partition(".")[0], each.line)
    return lines
