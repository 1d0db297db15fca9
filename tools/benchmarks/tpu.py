"""Ten backbones compiled for a TPU v5e-8 that is not there: a table for choosing."""

import json
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import KernelkitError, RunFailedError
from kernelkit.project import find_project
from kernelkit.shown import duration
from kernelkit.terminal.events import Events
from kernelkit.tpu.check import values_of
from kernelkit.tpu.chips import machine_named
from kernelkit.tpu.compiler.compiling import KILLED
from kernelkit.tpu.figures import GIB, CompiledProgram
from kernelkit.tpu.tpu_run import TRAINING, TpuRun

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "02_train.ipynb"
LOCK = ROOT / "requirements-tpu.lock"
ROWS = ROOT / "docs" / "tpu.json"
PAGE = ROOT / "docs" / "appendix" / "tpu.md"
BEGIN, END = "<!-- rows: tools/benchmark.py tpu -->\n", "<!-- end of rows -->\n"
BACKBONES = (
    "VGG16",
    "EfficientNetB0",
    "Xception",
    "ConvNeXtTiny",
    "EfficientNetV2S",
    "EfficientNetB3",
    "DenseNet201",
    "EfficientNetB5",
    "EfficientNetV2L",
    "EfficientNetB7",
)  # the quick to compile first
SIZES = (192, 512)
BATCH = 16  # images for each replica
AUGMENT = "none"  # what augmentation adds is the same for every backbone, and a line of its own
MACHINE = "v5e-8"
# The row of a program whose compiler was killed, before it said how large the model is.
KILLED_ROW = {
    "augment": AUGMENT,
    "fits": False,
    "message": "the compiling machine ran out of memory",
}
HEADER = """\
| backbone | pixels | peak memory a chip | step at best | step as estimated | \
images/s as estimated | compile, CPU time | libtpu |
|---|---|---|---|---|---|---|---|
"""


def run() -> dict[str, Any]:
    """The training step of each backbone and size, compiled; each row is written when it is done.

    By the libtpu that requirements-tpu.lock pins. Rows in docs/tpu.json stay, so an interrupted
    benchmark goes on where it was, and so do other compilers' rows: take a row out there to have
    it compiled again.
    """
    rows = read()
    libtpu = pinned()
    for size in SIZES:
        for backbone in BACKBONES:
            name = f"{backbone}-{size}-{libtpu}"
            if name not in rows:
                try:
                    rows[name] = compiled(backbone, size)
                except RunFailedError as error:
                    if KILLED not in str(error):
                        raise
                    rows[name] = {**KILLED_ROW, "versions": {"libtpu": libtpu}}
                write(rows)
    write(rows)
    return {name: "fits" if facts["fits"] else facts["message"] for name, facts in rows.items()}


def pinned() -> str:
    """The version of libtpu in the lock."""
    return LOCK.read_text(encoding="utf-8").partition("\nlibtpu==")[2].split()[0]


def read() -> dict[str, dict[str, Any]]:
    """The rows that are there."""
    return dict(json.loads(ROWS.read_text(encoding="utf-8"))) if ROWS.is_file() else {}


def write(rows: dict[str, dict[str, Any]]) -> None:
    """Keep the rows, and put them into the page."""
    files.write_text(ROWS, json.dumps(rows, indent=1, sort_keys=True) + "\n")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    files.write_text(PAGE, before + BEGIN + "\n" + table(rows) + "\n" + END + after)


def table(rows: dict[str, dict[str, Any]]) -> str:
    """A row for each backbone and size as Markdown: that of the newest compiler that has one."""
    lines = [
        _row(backbone, size, newest(rows, f"{backbone}-{size}-"))
        for backbone in BACKBONES
        for size in SIZES
    ]
    return HEADER + "\n".join(lines) + "\n"


def newest(rows: dict[str, dict[str, Any]], prefix: str) -> dict[str, Any] | None:
    """Of the rows whose names begin so, that of the newest libtpu, if there is one."""
    names = [name for name in rows if name.startswith(prefix)]
    versions = {name: [int(n) for n in name.removeprefix(prefix).split(".")] for name in names}
    return rows[max(names, key=versions.__getitem__)] if names else None


def _row(backbone: str, size: int, facts: dict[str, Any] | None) -> str:
    cells = ["not compiled yet", *[""] * 5] if facts is None else _cells(facts)
    held = facts["augment"] if facts else AUGMENT
    name = backbone if held == AUGMENT else f"{backbone}, with `augment={held}`"
    return f"| {name} | {size} | " + " | ".join(cells) + " |"


def _cells(facts: dict[str, Any]) -> list[str]:
    libtpu = facts["versions"]["libtpu"]
    if not facts["fits"]:
        message = " ".join(facts["message"].split())[:160].replace("|", "\\|")
        return [f"refused: {message}", *[""] * 4, libtpu]
    program = CompiledProgram(facts, machine_named(MACHINE))
    estimate = program.estimate
    return [
        f"{facts['peak_bytes'] / GIB:.2f} GiB",
        f"{1000 * program.bound:.1f} ms",
        f"{1000 * estimate:.1f} ms",
        f"{program.rate(estimate):,.0f}",
        duration(facts["cpu_seconds"]),
        libtpu,
    ]


def compiled(backbone: str, size: int) -> dict[str, Any]:
    """The facts of one row's training step."""
    project = find_project(NOTEBOOK)
    parameters = {
        "backbone": backbone,
        "image_size": size,
        "batch_size": BATCH,
        "fine_tune": "all",
        "augment": AUGMENT,
    }
    values = values_of(project, NOTEBOOK, parameters)
    machine = machine_named(MACHINE)
    events = Events()
    try:
        run = TpuRun(project, values, machine, (TRAINING,))
        outcome = run.compiled(events)
    finally:
        events.end()
    if not outcome.programs:
        raise KernelkitError(f"{backbone} at {size} px has no training step")
    return {**outcome.programs[0].facts, "augment": AUGMENT}
