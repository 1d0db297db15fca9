"""The kit's assumptions about Kaggle, as worded in the doctor's table."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelkit import machines

SAME, OTHER, UNTRIED = "as assumed", "different", "not tried"
OR = " or "  # between the values that confirm an assumption
PYTHONS = OR.join(f"{major}.{minor}" for major, minor in machines.PYTHONS)

# {key of the fact: (what it is about, the values that confirm it)}
ASSUMPTIONS = {
    "quota.tpu": ("TPU hours a week", "20"),
    "quota.gpu": ("GPU hours a week", "30"),
    "competition.entered": ("the project's competition is entered", "yes"),
    "cpu.folder": ("the working folder", "/kaggle/working"),
    "cpu.run_type": ("KAGGLE_KERNEL_RUN_TYPE", "Batch"),
    "cpu.python": ("Python of the CPU image", PYTHONS),
    "cpu.memory": ("GB of memory of a CPU session", "30 or 31 or 32 or 33"),
    "cpu.cores": ("cores of a CPU session", "4"),
    "inputs.now": ("where the inputs are mounted", "competitions/, datasets/ …"),
    "inputs.older": ("/kaggle/input/SLUG, where they were", "there too"),
    "tpu.python": ("Python of the TPU image", PYTHONS),
    "tpu.devices": ("devices of a TPU session", "8 TPU v5 lite"),
    "tpu.memory": ("GB of memory of a TPU session", "405 or 406"),
    "tpu.libtpu": ("libtpu of the TPU image", "0.0.17"),
    "tpu.jax": ("jax of the TPU image", "0.10.2"),
    "submission.result": ("the result of a code submission", "a score"),
}
# A rehearsal shows the local machine's values of these, which prove nothing.
HARDWARE = ("cpu.python", "cpu.memory", "cpu.cores", "tpu.")


@dataclass(frozen=True)
class Judgement:
    """One line of the table; `seen` is empty for what was not tried."""

    key: str
    about: str
    assumed: str
    seen: str
    verdict: str


def judged(facts: Mapping[str, str], *, rehearsal: bool = False) -> list[Judgement]:
    """The table: each assumption with the fact for its key; without a fact, it was not tried."""
    rows = []
    for key, (about, assumed) in ASSUMPTIONS.items():
        seen = "" if rehearsal and key.startswith(HARDWARE) else facts.get(key, "")
        confirmed = seen == assumed or seen in assumed.split(OR)
        verdict = OTHER
        if not seen:
            verdict = UNTRIED
        elif confirmed:
            verdict = SAME
        rows.append(Judgement(key, about, assumed, seen, verdict))
    return rows


def markdown(rows: list[Judgement]) -> str:
    """The table, one line for each assumption."""
    lines = ["| What | Assumed | Seen | |", "|---|---|---|---|"]
    for row in rows:
        cells = (row.about, row.assumed, row.seen or "-", row.verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
