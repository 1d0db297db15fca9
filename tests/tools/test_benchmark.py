"""The benchmarks are all there, and what they measure elsewhere is what is reported."""

import importlib
import inspect

import pytest
from records import write_dataset

from kernelkit.errors import KernelkitError


@pytest.fixture
def benchmarks(tool):
    """Imports a module of `benchmarks`, which lies beside the tools."""
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def test_every_name_is_a_benchmark(benchmarks, tool):
    names = tool("benchmark")["NAMES"]
    assert len(names) > 5
    for name in names:
        run = benchmarks(name).run
        needed = [p for p in inspect.signature(run).parameters.values() if p.default is p.empty]
        assert {p.name for p in needed} <= {"photos", "weights", "python"}
        assert run.__doc__


FITS = {
    "fits": True,
    "peak_bytes": 2**30,
    "flops": 1e12,
    "bytes": 819e6,
    "images": 128,
    "cpu_seconds": 90,
    "cycles": 1.5e7,
    "augment": "none",
}
REFUSED = {
    "fits": False,
    "message": "RESOURCE_EXHAUSTED: Ran out\nof memory | HBM",
    "augment": "light",
}


@pytest.fixture
def table(benchmarks, monkeypatch, tmp_path):
    """`benchmarks.tpu` with a page of its own, and two backbones that "compile" at once."""
    tpu = benchmarks("tpu")
    for name, file in {"ROWS": "tpu.json", "PAGE": "tpu.md", "LOCK": "tpu.lock"}.items():
        monkeypatch.setattr(tpu, name, tmp_path / file)
    monkeypatch.setattr(tpu, "BACKBONES", ("VGG16", "Large"))
    tpu.LOCK.write_text("keras==3\nlibtpu==0.0.50 \\\n    --hash=sha256:0\n")
    tpu.PAGE.write_text(f"before\n{tpu.BEGIN}{tpu.END}after\n")
    tpu.asked = []

    def compiled(backbone, size):
        tpu.asked.append((backbone, size))
        if (backbone, size) == ("Large", 192) and len(tpu.asked) < 3:
            raise KernelkitError("interrupted")
        facts = {"parameters": 14_700_000, "versions": {"libtpu": "0.0.50"}}
        return facts | (REFUSED if size == 512 else FITS)

    monkeypatch.setattr(tpu, "compiled", compiled)
    return tpu


def test_the_table_goes_on_where_it_was_and_says_what_was_refused(table):
    with pytest.raises(KernelkitError):
        table.run()
    page = table.PAGE.read_text()
    assert "| VGG16 | 192 | 14.7 | 1.00 GiB | 5.1 ms | FLOPs | 10.0 ms | 12,826 |" in page
    assert "| Large | 512 | not compiled yet |" in page
    table.run()
    page = table.PAGE.read_text()
    refused = "refused: RESOURCE_EXHAUSTED: Ran out of memory \\| HBM |"
    assert f"| VGG16, with `augment=light` | 512 | 14.7 | {refused}" in page
    assert "not compiled yet" not in page
    assert (page.startswith("before\n"), page.endswith("after\n")) == (True, True)
    assert table.asked.count(("VGG16", 192)) == 1
    table.LOCK.write_text("libs==1\nlibtpu==0.0.51 \\\n")
    rows = table.table(table.read()).splitlines()[2:]
    assert [row.rsplit("| ", 1)[1] for row in rows[:2]] == ["0.0.51 |", "0.0.50 |"]
    assert "not compiled yet" in rows[0]


def test_the_committed_table_is_that_of_the_committed_rows(benchmarks):
    tpu = benchmarks("tpu")
    assert tpu.table(tpu.read()) in tpu.PAGE.read_text()


@pytest.fixture
def recipes(benchmarks, tmp_path, monkeypatch):
    """`benchmarks.recipes` for a small network, on 36 labelled photos of three colours."""
    module = benchmarks("recipes")
    monkeypatch.setattr(module, "SIZE", 32)
    monkeypatch.setattr(module, "BACKBONE", "SmallNet")
    monkeypatch.setattr(module, "FOLDS", 3)
    monkeypatch.setattr(module.fine_tune, "RECIPES", {"tuned": {"epochs": 2, "batch_size": 8}})
    monkeypatch.setenv("PETALS_CACHE", str(tmp_path / "cache"))
    write_dataset(tmp_path, 32, {"train": [24], "val": [12], "test": [6]})
    return module


@pytest.mark.long
def test_recipes_are_judged_on_photos_that_they_did_not_see_and_go_on_where_they_were_cut_short(
    recipes, tmp_path, monkeypatch
):
    tune, tuned = recipes.fine_tune.run_fold, []

    def killed_in_the_second(name, *positional, **model):
        tuned.append(name)
        if len(tuned) == 2:
            raise KeyboardInterrupt
        return tune(name, *positional, **model)

    monkeypatch.setattr(recipes.fine_tune, "run_fold", killed_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        recipes.run(tmp_path, "none")
    rows = recipes.run(tmp_path, "none")
    assert len(tuned) == 4  # a fold, the one that was cut short, and the two that were left

    assert (rows["photos"], rows["classes"]) == (36, 3)
    for name in recipes.HEADS:
        assert rows[name]["macro_f1"] > 0.5
        assert rows[name]["cost"] > 0
    best = rows["logistic_depths_mirror"]
    assert best["macro_f1"] > 0.9
    row = rows["tuned"]
    assert row["cost"] > best["cost"]
    assert row["gain"] == pytest.approx(row["macro_f1"] - best["macro_f1"], abs=2e-4)
    assert len(row["epochs"]) == 2
    assert recipes.run(tmp_path, "none") == rows
    assert len(tuned) == 4
