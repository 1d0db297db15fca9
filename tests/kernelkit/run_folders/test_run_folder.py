"""The run in a folder had the machine asked for, and its report leaves its own files alone."""

import json
from pathlib import Path

import pytest

from kernelkit import errors, project
from kernelkit.run_folders import kit_folder, run_folder

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8"
    "cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def metrics(kind, **device):
    return {"macro_f1": 0.5, "device": {"kind": kind, **device}}


def test_the_machine_asked_for_passes():
    run_folder.check_accelerator(metrics("tpu"), "tpu", rehearsal=False)
    run_folder.check_accelerator(metrics("tpu", rehearsal=True), "tpu", rehearsal=True)


@pytest.mark.parametrize(
    "found",
    [
        metrics("cpu"),
        metrics("gpu"),
        metrics("tpu", rehearsal=True),
    ],
)
def test_another_machine_does_not(found):
    with pytest.raises(errors.AcceleratorMismatchError, match="was to have a TPU"):
        run_folder.check_accelerator(found, "tpu", rehearsal=False)


@pytest.mark.parametrize(
    "found",
    [{}, {"device": None}, *({"device": device} for device in ({"name": "Xeon"}, {"kind": None}))],
)
def test_a_run_that_names_no_kind_is_not_judged(found):
    assert not run_folder.names_device(found)
    for asked in ("cpu", "tpu", "gpu"):
        run_folder.check_accelerator(found, asked, rehearsal=False)
    with pytest.raises(errors.AcceleratorMismatchError):
        run_folder.check_accelerator(metrics("tpu"), "cpu", rehearsal=False)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_metrics_that_cannot_be_read_are_none(tmp_path, text):
    assert run_folder.metrics(tmp_path) is None
    (tmp_path / "metrics.json").write_text(text)
    assert run_folder.metrics(tmp_path) is None


def test_the_summary_names_measures_and_device():
    found = metrics("tpu", name="TPU v5e", replicas=8, rehearsal=True) | {"seconds": 61.2}
    message = run_folder.summary(found, project.shown(Path()))
    assert message == "macro F1 0.5000, 61 s, on TPU v5e (8 replicas, a rehearsal)"
    assert run_folder.summary({}, project.shown(Path())) == ""


def test_the_report_is_put_together_from_what_came_home(tmp_path):
    import nbformat

    (tmp_path / "metrics.json").write_text(json.dumps(metrics("cpu")))
    (tmp_path / "curves.png").write_bytes(PIXEL)
    run_folder.keep(tmp_path, '[{"data": "epoch 1\\n"}]', "")
    pushed = json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "metadata": {"tags": ["bundle"]},
                    "source": "carried",
                    "outputs": [],
                    "execution_count": None,
                },
                {"cell_type": "markdown", "metadata": {}, "source": "# Words"},
            ]
        }
    )
    assembled = run_folder._assembled(tmp_path, "me/blossom version 1", pushed)
    notebook = nbformat.from_dict(assembled)
    nbformat.validate(notebook)
    text = json.dumps(assembled)
    for part in ("me/blossom version 1", "image/png", "epoch 1", "# Words"):
        assert part in text
    assert "carried" not in text
    assert "macro F1" in run_folder.report(tmp_path, "a run", pushed).read_text()


def test_figures_come_home_with_their_words(tmp_path):
    """The report after a push says of each figure what the report at home says."""
    (tmp_path / "metrics.json").write_text("{}")
    for name in ("curves.png", "a.png", "other.png"):
        (tmp_path / name).write_bytes(PIXEL)
    words = {
        "curves.png": {"caption": "The <loss>.", "text": 'The loss "falls".'},
        "a.png": {"caption": "All of it.", "text": ""},
    }
    (tmp_path / "figures.json").write_text(json.dumps(words))
    page = run_folder.report(tmp_path, "a run").read_text()
    assert "<figcaption>The &lt;loss&gt;.</figcaption>" in page
    assert 'alt="The loss &quot;falls&quot;."' in page or """alt='The loss "falls".'""" in page
    assert page.index("The &lt;loss&gt;.") < page.index("All of it.")  # as they were drawn
    assert 'alt="All of it."' in page


@pytest.mark.parametrize("text", ["[]", "{", '{"curves.png": 3}', "[" * 100_000])
def test_damaged_words_of_figures_cost_nothing(tmp_path, text):
    (tmp_path / "metrics.json").write_text("{}")
    (tmp_path / "curves.png").write_bytes(PIXEL)
    (tmp_path / "figures.json").write_text(text)
    assert "data:image/png" in run_folder.report(tmp_path, "a run").read_text()


def test_the_log_is_kept_without_control_sequences(tmp_path):
    log = json.dumps([{"data": "\x1b]0;title\x07\x1b[31mred\x1b[0m\x9b5n\n"}], ensure_ascii=False)
    run_folder.keep(tmp_path, log, "")
    assert kit_folder.path(tmp_path, kit_folder.LOG_TEXT).read_text() == "red\n"
    kept = kit_folder.path(tmp_path, kit_folder.LOG).read_text()
    assert all(c == "\n" or " " <= c < "\x7f" for c in kept)
    assert json.loads(kept) == json.loads(log)


def test_half_a_character_in_a_log_costs_nothing(tmp_path):
    run_folder.keep(tmp_path, json.dumps([{"data": "half \ud83c\n"}]), "")
    text = kit_folder.path(tmp_path, kit_folder.LOG_TEXT)
    assert text.read_text() == "half \\ud83c\n"
    run_folder.keep(tmp_path, "not JSON \ud83c", "")
    (tmp_path / "metrics.json").write_text("{}")
    assert "half \\ud83c" in run_folder.report(tmp_path, "half \ud83c", "").read_text()


@pytest.mark.parametrize(
    "odd",
    [
        {"device": ["tpu"], "git": "abc", "versions": ["1"]},
        {"device": None, "git": {"sha": 3}, "versions": None},
        {"macro_f1": float("nan"), "seconds": True},
    ],
)
def test_metrics_of_any_shape_have_a_report(tmp_path, odd):
    (tmp_path / "metrics.json").write_text(json.dumps(odd))
    assert run_folder.report_or_why(tmp_path, "title")[1] == ""
    run_folder.summary(odd, project.shown(tmp_path))


def test_a_broken_report_does_not_cost_the_run(tmp_path):
    (tmp_path / "run.ipynb").write_text('{"cells": 3}')
    path, why = run_folder.report_or_why(tmp_path, "title")
    assert path is None
    assert why


def fetched(folder, **files):
    """A folder into which a push fetched these files."""
    record = kit_folder.FetchedFiles(folder, "a session")
    record.begin()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
        record.add(name.replace("_", "."), folder / name.replace("_", "."))
    return folder


def test_a_runs_own_report_and_notebook_stay_as_they_are(tmp_path):
    folder = fetched(tmp_path, report_html="its own", run_ipynb="no notebook", log_txt="its log")
    run_folder.keep(folder, '[{"data": "printed"}]', "")

    made = run_folder.report(folder, "me/blossom version 1")

    assert made == folder / ".kernelkit" / "report.html"
    assert "printed" in made.read_text()
    assert "its log" not in made.read_text()
    assert (folder / "report.html").read_text() == "its own"
    assert (folder / "run.ipynb").read_text() == "no notebook"
    assert (folder / "log.txt").read_text() == "its log"
    assert run_folder.report_place(folder) == made


def test_a_report_is_put_together_anew_from_what_came_later(tmp_path):
    folder = fetched(tmp_path)
    assert run_folder.report(folder, "a run") == folder / "report.html"
    (folder / "metrics.json").write_text('{"macro_f1": 0.125}')
    run_folder.keep(folder, '[{"data": "a later log"}]', "")
    text = run_folder.report(folder, "a run").read_text()
    assert "a later log" in text
    assert "0.125" in text


def test_secrets_are_cleared_from_all_that_is_written(tmp_path):
    def clear(text):
        return text.replace("s3cr3t-key", "[secret]")

    log = json.dumps([{"data": "s3cr3t-key\n"}, {"data": "s3cr3t"}, {"data": "-key\n"}])
    pushed = json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "metadata": {},
                    "source": "print('s3cr3t-key')",
                    "outputs": [],
                    "execution_count": None,
                },
            ]
        }
    )
    folder = fetched(tmp_path)
    run_folder.keep(folder, log, pushed, clear)
    run_folder.report(folder, "a run", pushed, clear)
    (folder / "run.ipynb").unlink()
    run_folder.report(folder, "a run", clear=clear)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"log.json", "log.txt", "run.ipynb", "report.html"}
    assert not [path for path in written if "s3cr3t-key" in path.read_text()]
    assert (folder / ".kernelkit" / "log.txt").read_text() == "[secret]\n[secret]\n"
