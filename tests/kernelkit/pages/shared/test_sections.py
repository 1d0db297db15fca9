"""Which parts a report has follows from the run's files and what the project names."""

import json

import pytest

from kernelkit.errors import PreflightError
from kernelkit.pages.shared import sections
from kernelkit.project import find_project
from kernelkit.shown import Section

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def test_bars_come_worst_first_and_say_who_is_below_the_mean(tmp_path):
    (tmp_path / "f.csv").write_text(
        "class,F1,recall,images\nrose,0.9,1.0,5\niris,0.25,0.16667,1234\n"
    )
    part = sections.filled(Section("Scores", "f.csv", "bars"), tmp_path)
    assert [tuple(bar[key] for key in ("name", "below", "others")) for bar in part["bars"]] == [
        ("iris", True, ["0.167", "1,234"]),
        ("rose", False, ["1.000", "5"]),
    ]
    assert part["bars"][0]["width"] == 25.0
    assert part["mean"] == "0.575"


def test_a_matrix_says_what_is_taken_for_what(tmp_path):
    (tmp_path / "m.csv").write_text("true,rose,iris\nrose,5,3\niris,0,2\n")
    part = sections.filled(Section("Matrix", "m.csv", "matrix"), tmp_path)
    assert part["matrix"] == {"names": ["rose", "iris"], "counts": [[5, 3], [0, 2]]}
    assert "7 of 10 are correct (70.0 %)" in part["finding"]
    assert "rose → iris (3)" in part["finding"]


def test_no_mistake_is_the_most_common_where_others_are_as_frequent(tmp_path):
    (tmp_path / "m.csv").write_text("true,a,b,c\na,5,1,0\nb,0,2,1\nc,0,0,4\n")
    part = sections.filled(Section("Matrix", "m.csv", "matrix"), tmp_path)
    assert part["finding"] == "11 of 13 are correct (84.6 %)."


def test_photos_have_captions_and_alternative_texts(tmp_path):
    photos = [{"photo": "", "true": "c"}, {"photo": PIXEL, "true": "a", "guessed": "b"}]
    (tmp_path / "p.json").write_text(json.dumps(photos))
    part = sections.filled(Section("Mistakes", "p.json"), tmp_path)
    assert part["photos"] == [
        {"picture": PIXEL, "texts": {"true": "a", "guessed": "b"}, "alt": "true a, guessed b"}
    ]


def test_a_table_tells_numbers_from_texts(tmp_path):
    rows = ["name,count,share,photo,id", "rose,1234,60 %,,1234", "", "1_2,5,,,0012"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    part = sections.filled(Section("Table", "t.csv"), tmp_path)
    texts = [[cell["text"] for cell in row] for row in part["rows"]]
    assert texts == [["rose", "1,234", "60 %", "", "1234"], ["1_2", "5", "", "", "0012"]]
    assert [cell["number"] for cell in part["rows"][0]] == [False, True, True, False, False]


def test_what_is_too_large_for_a_page_is_said_to_be_that(tmp_path):
    names = [f"c{n}" for n in range(sections.MOST_CLASSES + 1)]
    rows = [["true", *names], *([name, *["0"] * len(names)] for name in names)]
    (tmp_path / "m.csv").write_text("\n".join(map(",".join, rows)))
    part = sections.filled(Section("Matrix", "m.csv", "matrix"), tmp_path)
    assert part["kind"] == "note"
    assert part["finding"] == "m.csv has 401 classes: too many for this page."
    (tmp_path / "f.png").write_bytes(bytes(sections.LARGEST + 1))
    part = sections.filled(Section("Figure", "f.png"), tmp_path)
    assert part["finding"] == "f.png is too large for this page."


@pytest.mark.parametrize("text", ["true,a,b\na,1\n", "true,a,b\na,x,y\nb,1,2\n", ""])
def test_a_damaged_or_missing_file_is_left_out(tmp_path, text):
    (tmp_path / "m.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text.replace("1", "one"))
    (tmp_path / "p.json").write_text('[{"photo": "javascript:alert(1)"}]')
    (tmp_path / "q.json").write_text("[3]")
    damaged = {"m.csv": "matrix", "b.csv": "bars", "p.json": "photos", "q.json": "photos"}
    for name, kind in (damaged | {"none.csv": "table"}).items():
        assert sections.filled(Section("Damaged", name, kind), tmp_path) is None


def test_no_file_outside_of_the_run_is_shown(tmp_path):
    (tmp_path / "secret.csv").write_text("a,b\nx,1\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "link.csv").symlink_to(tmp_path / "secret.csv")
    for name in ("../secret.csv", "link.csv"):
        assert sections.filled(Section("Secret", name), run) is None


def test_a_section_of_no_known_kind_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.kernelkit.shown.sections]]\ntitle = "a"\nfile = "b"\nkind = "pie"\n'
    )
    with pytest.raises(PreflightError, match="a kind: figure, table, bars, matrix or photos"):
        find_project(tmp_path)
