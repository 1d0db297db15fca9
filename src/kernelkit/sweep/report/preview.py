"""A sweep as text: which runs there are, how they stand, how long the rest should take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record
from kernelkit.sweep.store.results import ResultTable

SHOWN = 60  # runs listed


def preview(table: ResultTable, workers: int, left: int) -> str:
    """The table of runs, what is done, and the time expected for the `left` ones."""
    varying = table.varying
    heads = ["run", "state", *varying]
    cells = [
        [row.run.id, row.record.state, *(str(row.run.values.get(name)) for name in varying)]
        for row in table.rows[:SHOWN]
    ]
    widths = [max(len(line[n]) for line in [heads, *cells]) for n in range(len(heads))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in [heads, *cells]
    ]
    if len(table.rows) > SHOWN:
        lines.append(f"… and {len(table.rows) - SHOWN:,} more")
    done = sum(row.record.state == records.DONE for row in table.rows)
    rest = _time(table, workers, left)
    lines.append(f"{len(table.rows):,} runs, {done:,} done, {left:,} to run: {rest}")
    return "\n".join(lines)


def expected_seconds(kept: Sequence[Record]) -> float:
    """The mean time of runs that are done; 0 when none is."""
    times = [record.seconds for record in kept if record.state == records.DONE and record.seconds]
    return statistics.fmean(times) if times else 0.0


def _time(table: ResultTable, workers: int, left: int) -> str:
    each = expected_seconds([row.record for row in table.rows])
    if not left:
        return "nothing left to do"
    if not each:
        return "how long is known once one is done"
    minutes = each * -(-left // workers) / 60
    return f"about {minutes:.0f} min with {workers} at a time ({each:.0f} s each so far)"
