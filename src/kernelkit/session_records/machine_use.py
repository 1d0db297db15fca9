"""Whether a session used the accelerator that was asked for. See `session.accelerator_watch`."""

from pathlib import Path

from kernelkit import typed
from kernelkit.runs import kit_folder
from kernelkit.session.accelerator_watch import DEVICES, SILENT_MINUTES
from kernelkit.session.places import MACHINE
from kernelkit.shown import duration

LONGEST = 100_000  # minutes; no session has more


def in_words(folder: Path) -> str:
    """How long a process of a run's session had its accelerator open, or that none had.

    "" for a session without one, for one that ended before any process opened it and too soon to
    tell, and for a rehearsal.
    """
    told = kit_folder.read_json(folder, f"{kit_folder.SESSION}/{MACHINE}")
    kind = str(told.get("kind"))
    numbers = typed.numbers(told)
    minutes, held = numbers.get("minutes", 0.0), numbers.get("held_minutes", 0.0)
    if kind not in DEVICES or not LONGEST > minutes >= held >= 0:
        return ""
    name = kind.upper()
    if held:
        words = f"a process had the {name} open for {duration(60 * held)} of "
        words += duration(60 * minutes)
        if "busy" in numbers:
            words += f"; it was busy {numbers['busy']:.0f} % of the time"
        return words
    if minutes < SILENT_MINUTES:
        return ""
    return f"asked for a {name}, and no process opened it in {duration(60 * minutes)}"
