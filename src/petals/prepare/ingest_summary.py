"""The summary of an ingest: counts, files left out and why, advice on the shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from petals.data import shards

TPU_SHARD_BYTES = (10_000_000, 200_000_000)  # the organisers' advice: 10s to 100s of MB per file


@dataclass
class Summary:
    """The counts of an ingest: `images` by split, `kinds` handled, `left_out` by file."""

    output: Path
    class_names: list[str]
    images: dict[str, Counter[int]] = field(default_factory=dict)  # split -> label -> images
    kinds: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    shards_written: int = 0
    shards_kept: int = 0

    def add(self, split: str, entry: dict) -> None:
        """Count in what the manifest says of one shard."""
        self.kinds.update(entry["kinds"])
        self.left_out.update(entry["left_out"])
        counts = Counter({int(label): n for label, n in entry["labels"].items()})
        self.images.setdefault(split, Counter()).update(counts)

    def __str__(self) -> str:
        totals = {split: sum(counts.values()) for split, counts in self.images.items()}
        lines = [
            f"{self.output}: {len(self.class_names)} classes, "
            + ", ".join(f"{n:,} {split}" for split, n in totals.items())
            + f"; {self.shards_written} shards written, {self.shards_kept} there already"
        ]
        if self.kinds:
            kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items()))
            lines.append(f"handled: {kinds}")
        if self.left_out:
            lines.append(f"left out: {len(self.left_out)} files")
            lines += [f"  {path}: {why}" for path, why in sorted(self.left_out.items())]
        return "\n".join(lines + [f"note: {line}" for line in self.advice])


def advise(summary: Summary, sizes: Sequence[int]) -> list[str]:
    """Lines on classes that a split lacks and on shards that would keep a TPU waiting."""
    advice = []
    train = summary.images.get("train", Counter())
    for label, name in enumerate(summary.class_names):
        missing = [s for s in ("train", "val") if not summary.images.get(s, Counter())[label]]
        if missing:
            n = sum(counts[label] for counts in summary.images.values())
            advice.append(
                f"class {name} ({n} photos) has none in {' and '.join(missing)}: add photos"
            )
    if not train:
        return advice
    low, high = TPU_SHARD_BYTES
    for size in sizes:
        split = Path(shards.folder(summary.output, size, "train"))
        bytes_each = [p.stat().st_size for p in split.glob("*.tfrec")]
        mean = sum(bytes_each) / len(bytes_each)
        if mean < low:
            advice.append(
                f"train shards at {size} px are {mean / 1e6:.1f} MB: little data for a TPU, which "
                "is fed best by 10s of files of 10-100 MB; at home it makes no difference"
            )
        elif mean > high:
            advice.append(
                f"train shards at {size} px are {mean / 1e6:.0f} MB: give --shards "
                f"{round(sum(bytes_each) / 100e6)} for files of about 100 MB"
            )
    return advice
