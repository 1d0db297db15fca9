"""The kit's assumptions about Kaggle, as worded in the doctor's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelkit import machines

SAME, OTHER, UNTRIED = "as assumed", "other", "not tried"
PYTHONS = tuple(f"{major}.{minor}" for major, minor in machines.PYTHONS)


@dataclass(frozen=True)
class Assumption:
    """One assumption: the fact's key, what it is about, and the values that confirm it.

    `hardware`: a rehearsal shows the local machine's value instead, which proves nothing.
    """

    key: str
    about: str
    assumed: tuple[str, ...]
    hardware: bool = False


@dataclass(frozen=True)
class Judgement:
    """One line of the table: the assumption, the observed value (or empty), and the verdict."""

    assumption: Assumption
    seen: str
    verdict: str


ASSUMPTIONS = (
    Assumption("quota.tpu", "TPU hours a week", ("20",)),
    Assumption("quota.gpu", "GPU hours a week", ("30",)),
    Assumption("missing", "a kernel of one's own that is not there", ("refused or not found",)),
    Assumption("competition.entered", "the project's competition is entered", ("yes",)),
    Assumption("save.slug", "the slug of a kernel saved with another title", ("the title's",)),
    Assumption("save.version", "the number of a second save", ("one more",)),
    Assumption("save.text", "the stored text", ("as saved",)),
    Assumption("save.session", "a quick save", ("starts no session",)),
    Assumption("save.internet", "the internet switch (off: verify your phone)", ("kept",)),
    Assumption("save.sources", "the project's inputs", ("all taken",)),
    Assumption("running.log", "the listed log while a session runs", ("empty",)),
    Assumption("running.files", "the listed files while a session runs", ("none",)),
    Assumption("ended.state", "the state of a session that came to its end", ("complete",)),
    Assumption("ended.label", "the state by version label", ("of that version",)),
    Assumption("ended.log", "the listed log of a session that ended", ("a JSON array",)),
    Assumption("ended.files", "files with their sizes", ("listed",)),
    Assumption("cpu.folder", "the working folder", ("/kaggle/working",)),
    Assumption("cpu.run_type", "KAGGLE_KERNEL_RUN_TYPE", ("Batch",)),
    Assumption("cpu.internet", "the network of a session without internet", ("closed",)),
    Assumption("cpu.python", "Python of the CPU image", PYTHONS, hardware=True),
    Assumption(
        "cpu.memory", "GB of memory of a CPU session", ("30", "31", "32", "33"), hardware=True
    ),
    Assumption("cpu.cores", "cores of a CPU session", ("4",), hardware=True),
    Assumption("inputs.now", "where the inputs are mounted", ("competitions/, datasets/ …",)),
    Assumption("inputs.older", "/kaggle/input/SLUG, where they were", ("there too",)),
    Assumption("tpu.python", "Python of the TPU image", PYTHONS, hardware=True),
    Assumption("tpu.devices", "devices of a TPU session", ("8 TPU v5 lite",), hardware=True),
    Assumption("tpu.memory", "GB of memory of a TPU session", ("405", "406"), hardware=True),
    Assumption("tpu.libtpu", "libtpu of the TPU image", ("0.0.17",), hardware=True),
    Assumption("tpu.jax", "jax of the TPU image", ("0.10.2",), hardware=True),
    Assumption("submission.answer", "the answer to a code submission", ("a number",)),
    Assumption("submission.states", "the states of a code submission", ("pending, then complete",)),
    Assumption("submission.result", "what a code submission ends with", ("a score",)),
    Assumption("submission.hours", "hours until then", tuple(map(str, range(1, 16)))),
)


def judged(facts: Mapping[str, str], *, rehearsal: bool = False) -> list[Judgement]:
    """The table: each assumption with the fact for its key; without a fact, it was not tested."""
    rows = []
    for assumption in ASSUMPTIONS:
        seen = "" if rehearsal and assumption.hardware else facts.get(assumption.key, "")
        verdict = UNTRIED if not seen else SAME if seen in assumption.assumed else OTHER
        rows.append(Judgement(assumption, seen, verdict))
    return rows


def markdown(rows: list[Judgement]) -> str:
    """The table, one line for each assumption."""
    lines = ["| What | Assumed | Seen | |", "|---|---|---|---|"]
    for row in rows:
        assumed = " or ".join(row.assumption.assumed) or "-"
        cells = (row.assumption.about, assumed, row.seen or "-", row.verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
