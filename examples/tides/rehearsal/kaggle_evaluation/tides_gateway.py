"""The gateway of the competition: a day of hours at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kaggle_evaluation.core.gateway import RERUN, Gateway

FILES = Path(__file__).resolve().parent.parent
ANSWER_SECONDS = 5 * 60.0


class TidesGateway(Gateway):
    """Hands out the hours of one day, without their levels."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.client.answer_seconds = ANSWER_SECONDS

    def batches(self) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        """The days in order."""
        for day in pl.read_csv(self.folder / "test.csv").partition_by("day", maintain_order=True):
            yield (day,), day["hour_id"].to_list()

    def write(self, ids: list[Any], predictions: list[Any]) -> None:
        """submission.parquet, with `hour_id` and `level`."""
        days = zip(ids, predictions, strict=True)
        tables = [pl.DataFrame({"hour_id": hours, "level": day["level"]}) for hours, day in days]
        pl.concat(tables).write_parquet("submission.parquet")


if __name__ == "__main__" and RERUN in os.environ:
    TidesGateway(FILES).run()
