"""The made sweep, at whose page `make test-browser` looks, is one as the kit writes it."""

import csv

from browser import made_sweep


def test_the_page_of_a_made_sweep_has_its_runs(tmp_path):
    page = made_sweep.make(tmp_path, 4)
    assert page.is_file()
    with (tmp_path / "results.csv").open(newline="") as lines:
        states = [row["state"] for row in csv.DictReader(lines)]
    assert states == ["done"] * 4
