"""Hidden data of tables: groups, times, several tables, a gateway, files named by an id."""

import csv
import datetime
import sys

import duckdb
import pytest
from csv_files import read, write

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_data import make_hidden_data
from kernelkit.hidden.public_and_hidden import read_both
from kernelkit.project import HiddenSettings, Project

GATEWAY = '''\
"""A host's gateway."""
class SwingGateway:
    def unpack_data_paths(self):
        if not self.data_paths:
            self.test_path = "/kaggle/input/swings/test.csv"
            self.people_path = "/kaggle/input/swings/test_people.csv"
'''


def make(catalogue, count=None, **settings):
    project = Project(catalogue, hidden=HiddenSettings(**{"metric": "accuracy", **settings}))
    return make_hidden_data(catalogue, "swings", project, count)


@pytest.fixture
def swings(tmp_path):
    """Sequences of several rows, two a person, behind a gateway that serves two tables."""
    public = tmp_path / "competitions/swings"
    header = ("row_id", "sequence_id", "counter", "person", "speed", "phase", "kind")

    def sequence(number, person):
        for counter in range(3):
            name = f"SEQ_{number:04d}"
            row = (f"{name}_{counter:03d}", name, counter, f"P{person:02d}")
            yield (*row, number / 10, "up", f"kind {number % 3}")

    train = [row for number in range(80) for row in sequence(number, number // 2)]
    test = [row[:5] for number in (900, 901) for row in sequence(number, number - 810)]
    write(public / "train.csv", header, train)
    write(public / "test.csv", header[:5], test)
    write(public / "train_people.csv", ("person", "age"), [(f"P{n:02d}", n) for n in range(40)])
    write(public / "test_people.csv", ("person", "age"), [("P90", 90), ("P91", 91)])
    (public / "kaggle_evaluation/core").mkdir(parents=True)
    (public / "kaggle_evaluation/core/base_gateway.py").write_text("")
    (public / "kaggle_evaluation/swing_gateway.py").write_text(GATEWAY)
    return tmp_path


NAMED = {"id": "sequence_id", "target": ["kind"], "group": "person"}


def test_what_a_gateway_serves_is_made_in_whole_sequences_and_whole_people(swings):
    made = make(swings, **NAMED)
    folder = swings / "hidden/swings"
    test, people = read(folder / "test.csv"), read(folder / "test_people.csv")
    assert made.rows == len({row["sequence_id"] for row in test}) == 16
    assert list(test[0]) == ["row_id", "sequence_id", "counter", "person", "speed"]
    for row in test:
        assert row["row_id"] == f"{row['sequence_id']}_{int(row['counter']):03d}"
        assert int(row["sequence_id"].removeprefix("SEQ_")) > 901
    assert {row["person"] for row in people} == {row["person"] for row in test}
    left = {row["person"] for row in read(folder / "train.csv")}
    assert not left & {row["person"] for row in people}
    assert left == {row["person"] for row in read(folder / "train_people.csv")}
    assert "serves test.csv, test_people.csv" in "\n".join(made.notes)
    assert "rows of one 'person' stay together" in "\n".join(made.notes)
    answers = read(swings / "solutions/swings.hidden.csv")
    by_speed = {row["sequence_id"]: round(10 * float(row["speed"])) % 3 for row in test}
    assert {row["sequence_id"]: row["kind"] for row in answers} == {
        one: f"kind {kind}" for one, kind in by_speed.items()
    }


def test_the_rows_of_a_sequence_keep_their_order(swings):
    make(swings, **NAMED)
    counters = [int(row["counter"]) for row in read(swings / "hidden/swings/test.csv")]
    assert counters == [0, 1, 2] * 16


def test_ids_and_rows_count_once_a_sequence(swings):
    made = make(swings, **NAMED)
    sets = read_both(swings, "swings")
    assert sets.public_ids == ["SEQ_0900", "SEQ_0901"]
    assert len(sets.hidden_ids) == made.rows == sets.hidden_rows


def test_without_a_sample_submission_id_and_target_are_asked_for_in_one_line(swings):
    with pytest.raises(ParameterError) as caught:
        make(swings)
    text = str(caught.value)
    assert "train.csv has 'phase', 'kind' that test.csv lacks" in text
    assert 'hidden = {id = "COLUMN", target = ["COLUMN"], metric = "accuracy"}' in text
    assert "\n" not in text


def test_a_target_alone_does_not_tell_the_ids(swings):
    with pytest.raises(ParameterError, match=r'which column of test\.csv has the ids.*id = "COL'):
        make(swings, target=["kind"])


def test_a_file_that_the_gateway_serves_and_nothing_is_like_is_said(swings):
    public = swings / "competitions/swings"
    (public / "train_people.csv").unlink()
    with pytest.raises(ParameterError, match=r"serves test_people\.csv, which does not lie beside"):
        make(swings, **NAMED)


@pytest.mark.parametrize("served", ["test.csv", "test_people.csv"])
def test_a_table_that_the_gateway_serves_from_a_folder_is_refused(swings, served):
    public = swings / "competitions/swings"
    (public / "data").mkdir()
    for name in (served, served.replace("test", "train")):
        (public / name).rename(public / "data" / name)
    gateway = public / "kaggle_evaluation/swing_gateway.py"
    gateway.write_text(GATEWAY.replace(served, f"data/{served}"))
    with pytest.raises(ParameterError, match=rf"gateway serves data/{served}, which does not lie"):
        make(swings, **NAMED)
    assert not (swings / "hidden/swings").exists()


@pytest.mark.parametrize("name", ["latest", "contest_people"])
def test_a_table_is_of_a_test_set_where_its_name_has_that_word(swings, name):
    public = swings / "competitions/swings"
    write(public / f"{name}.csv", ("hour",), [(1,)])
    gateway = public / "kaggle_evaluation/swing_gateway.py"
    gateway.write_text(GATEWAY.replace("test_people.csv", f"{name}.csv"))
    made = make(swings, **NAMED)
    assert (swings / f"hidden/swings/{name}.csv").is_file()
    assert f"{name}.csv stays as it is" not in "\n".join(made.notes)


def test_answers_that_went_are_made_again(swings):
    make(swings, **NAMED)
    assert make(swings, **NAMED).reused
    (swings / "solutions/swings.hidden.csv").unlink()
    assert not make(swings, **NAMED).reused


def simple(catalogue, train, test, sample):
    public = catalogue / "competitions/swings"
    for name, (header, rows) in (("train", train), ("test", test), ("sample_submission", sample)):
        write(public / f"{name}.csv", header, rows)
    return public


def test_columns_that_only_the_test_table_has_are_named_or_left_empty(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, "a") for n in range(40)]
    test = ("id", "velocity", "note"), [(100, 1, "x"), (101, 2, "y")]
    simple(tmp_path, train, test, (("id", "kind"), [(100, "a"), (101, "a")]))
    with pytest.raises(ParameterError, match='velocity = "COLUMN", note = "COLUMN"'):
        make(tmp_path)
    make(tmp_path, columns={"velocity": "speed", "note": ""})
    hidden = read(tmp_path / "hidden/swings/test.csv")
    assert list(hidden[0]) == ["id", "velocity", "note"]
    assert {row["note"] for row in hidden} == {""}
    assert all(row["velocity"].isdecimal() for row in hidden)


def test_a_training_table_without_ids_gives_the_next_numbers(tmp_path):
    train = ("speed", "kind"), [(n % 7, "a") for n in range(50)]
    test = ("id", "speed"), [(1460, 1), (1461, 2)]
    simple(tmp_path, train, test, (("id", "kind"), [(1460, "a"), (1461, "a")]))
    make(tmp_path)
    hidden = [row["id"] for row in read(tmp_path / "hidden/swings/test.csv")]
    assert hidden == [str(1462 + n) for n in range(10)]


def test_a_test_table_without_ids_is_counted_as_its_submission_is(tmp_path):
    train = ("kind", "pixel"), [(n % 3, n) for n in range(50)]
    sample = ("ImageId", "kind"), [(1, 0), (2, 0)]
    simple(tmp_path, train, (("pixel",), [(7,), (8,)]), sample)
    make(tmp_path)
    folder = tmp_path / "hidden/swings"
    assert [row["ImageId"] for row in read(folder / "sample_submission.csv")] == [
        str(n) for n in range(1, 11)
    ]
    answers = read(tmp_path / "solutions/swings.hidden.csv")
    pixels = [int(row["pixel"]) for row in read(folder / "test.csv")]
    assert [int(row["kind"]) for row in answers] == [pixel % 3 for pixel in pixels]


def test_ids_of_a_submission_that_are_made_of_others_are_said(tmp_path):
    train = ("id", "speed", "kind"), [(f"s{n}", n, "a") for n in range(40)]
    test = ("id", "speed"), [("s100", 1)]
    sample = ("id", "kind"), [("s100_left", "a"), ("s100_right", "a")]
    simple(tmp_path, train, test, sample)
    with pytest.raises(ParameterError, match=r"ids such as 's100_left', and test\.csv has 's100'"):
        make(tmp_path)


def test_the_test_folder_gets_the_hidden_photos_without_their_class_and_no_public_ones(tmp_path):
    train = ("id", "kind"), [(f"a{n:03d}", "ab"[n % 2]) for n in range(50)]
    sample = ("id", "kind"), [("a900", "a")]
    public = simple(tmp_path, train, (("id",), [("a900",)]), sample)
    for n in range(50):
        for place in (
            f"train_images/{'ab'[n % 2]}/a{n:03d}_red.png",
            f"train_scans/a{n:03d}/0.dcm",
        ):
            (public / place).parent.mkdir(parents=True, exist_ok=True)
            (public / place).write_text(str(n))
    (public / "test_images").mkdir()
    (public / "test_images/a900_red.png").write_text("public")
    make(tmp_path)
    folder = tmp_path / "hidden/swings"
    ids = {row["id"] for row in read(folder / "test.csv")}
    photos = sorted(path.name for path in (folder / "test_images").rglob("*"))
    assert photos == sorted(f"{one}_red.png" for one in ids)
    assert {path.parent.name for path in (folder / "test_scans").rglob("*.dcm")} == ids
    assert len(list((folder / "train_scans").rglob("*.dcm"))) == 40


def test_a_folder_is_of_a_set_where_its_name_has_that_word(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, "a") for n in range(5)]
    test = ("id", "speed"), [(100, 1)]
    public = simple(tmp_path, train, test, (("id", "kind"), [(100, "a")]))
    others = ("latest/100.png", "contest_rules/100.txt", "constraints/{}.json", "strain/{}.png")
    places = [place.format(n) for place in others for n in range(5)]
    for place in dict.fromkeys(places):
        (public / place).parent.mkdir(exist_ok=True)
        (public / place).write_text("x")
    made = make(tmp_path)
    folders = ("latest", "contest_rules", "constraints", "strain")
    kept = [path for name in folders for path in (made.folder / name).iterdir()]
    assert {path.relative_to(made.folder).as_posix() for path in kept} == set(places)


def test_a_test_table_that_has_the_column_to_predict_shows_no_answers(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, f"kind {n}") for n in range(60)]
    test = ("id", "kind", "speed"), [(100, "", 1), (101, "", 2)]
    simple(tmp_path, train, test, (("id", "kind"), [(100, "a"), (101, "a")]))
    make(tmp_path)
    assert {row["kind"] for row in read(tmp_path / "hidden/swings/test.csv")} == {""}


def test_rows_without_an_answer_are_not_hidden(tmp_path):
    train = ("id", "team", "level"), [(n, n // 6, n if n % 3 else "") for n in range(120)]
    test = ("id", "team"), [(900, 90), (901, 91)]
    simple(tmp_path, train, test, (("id", "level"), [(900, 0), (901, 0)]))
    made = make(tmp_path, metric="mae", group="team", count=10)
    folder = tmp_path / "hidden/swings"
    answers = read(tmp_path / "solutions/swings.hidden.csv")
    assert len(answers) == len(read(folder / "test.csv")) == 12
    assert all(int(row["level"]) % 3 for row in answers)
    assert len(read(folder / "train.csv")) == 102, "the group's other rows would tell of it"
    said = "40 rows of train.csv have an id without an answer: none of them is hidden"
    assert said in made.notes


def test_a_row_without_an_answer_is_hidden_with_the_others_of_its_id(tmp_path):
    train = [row for n in range(40) for row in ((n, 1, n), (n, 2, ""))]
    simple(
        tmp_path,
        (("id", "part", "level"), train),
        (("id", "part"), [(900, 1), (900, 2)]),
        (("id", "level"), [(900, 0)]),
    )
    made = make(tmp_path, metric="mae")
    assert not any("none of them is hidden" in note for note in made.notes)
    assert {row["part"] for row in read(tmp_path / "hidden/swings/test.csv")} == {"1", "2"}


def test_packed_tables_are_to_be_unpacked(swings):
    train = swings / "competitions/swings/train.csv"
    train.rename(train.with_name("train.csv.zip"))
    with pytest.raises(ParameterError, match=r"train\.csv\.zip is packed: unpack it there"):
        make(swings, **NAMED)


def test_groups_that_only_the_public_test_set_has_are_asked_about(swings):
    with pytest.raises(ParameterError) as caught:
        make(swings, id="sequence_id", target=["kind"])
    text = str(caught.value)
    assert text.startswith("test.csv has other 'person' than train.csv")
    assert 'hidden = {group = "person", id = "sequence_id", target = ["kind"]' in text
    assert 'or single ones after all (group = "sequence_id")' in text
    make(swings, id="sequence_id", target=["kind"], group="sequence_id")


def test_an_id_of_several_groups_is_refused(swings):
    train = swings / "competitions/swings/train.csv"
    train.write_text(train.read_text().replace("SEQ_0004_001,SEQ_0004,1,P02", "a,SEQ_0004,1,P03"))
    with pytest.raises(ParameterError, match=r"'SEQ_0004' of train\.csv is of several 'person'"):
        make(swings, **NAMED)


def test_that_a_group_has_all_rows_is_among_the_reasons_why_none_can_be_hidden(tmp_path):
    train = ("id", "shop", "kind"), [(n, 1, "a") for n in range(60)]
    test = ("id", "shop"), [(200, 1)]
    simple(tmp_path, train, test, (("id", "kind"), [(200, "a")]))
    with pytest.raises(ParameterError, match="too few to hide 12 of them by whole 'shop' and"):
        make(tmp_path, group="shop")


def test_a_sparse_feature_whose_public_values_are_new_is_no_group(tmp_path):
    values = [0] * 40 + list(range(1000, 1060))
    train = ("id", "bill", "kind"), [(n, value, "a") for n, value in enumerate(values)]
    test = ("id", "bill"), [(200, 5), (201, 6), (202, 7)]
    simple(tmp_path, train, test, (("id", "kind"), [(n, "a") for n in (200, 201, 202)]))
    made = make(tmp_path)
    assert made.rows == 20
    assert "drawn at random" in "\n".join(made.notes)


def daily(tmp_path):
    """A table of 200 rows, two a day, the last day first; the public test set is later."""
    rows = [(n, f"2020-{1 + n // 20:02d}-{1 + n // 2 % 10:02d}", n % 4, n) for n in range(200)]
    train = ("id", "day", "shop", "sold"), rows[::-1]
    test = ("id", "day", "shop"), [(900 + n, f"2021-01-0{1 + n // 2}", n % 4) for n in range(6)]
    return simple(tmp_path, train, test, (("id", "sold"), [(900 + n, 0) for n in range(6)]))


def test_a_later_public_test_set_is_asked_about(tmp_path):
    daily(tmp_path)
    with pytest.raises(ParameterError, match=r"other 'day' than train\.csv.*write time in place"):
        make(tmp_path, metric="mae")


def test_a_hidden_set_in_time_has_the_last_rows_and_whole_times(tmp_path):
    daily(tmp_path)
    made = make(tmp_path, count=15, metric="mae", time="day")
    folder = tmp_path / "hidden/swings"
    hidden = [row["day"] for row in read(folder / "test.csv")]
    left = [row["day"] for row in read(folder / "train.csv")]
    assert min(hidden) > max(left)
    assert len(hidden) == 16, "days stay whole"
    assert [row["id"] for row in read(folder / "test.csv")] == [str(906 + n) for n in range(16)]
    assert "the hidden rows are the last ones by 'day'" in "\n".join(made.notes)


def test_a_group_may_be_named_where_the_public_test_set_is_later(tmp_path):
    daily(tmp_path)
    make(tmp_path, count=15, metric="mae", group="shop")
    assert len({row["shop"] for row in read(tmp_path / "hidden/swings/test.csv")}) == 1


def test_a_time_without_answers_is_not_left_behind_the_hidden_ones(tmp_path):
    train = daily(tmp_path) / "train.csv"
    train.write_text(train.read_text().replace(",199\n", ",\n").replace(",198\n", ",\n"))
    make(tmp_path, count=10, metric="mae", time="day")
    days = {row["day"] for row in read(tmp_path / "hidden/swings/train.csv")}
    assert "2020-10-10" not in days
    assert len(read(tmp_path / "hidden/swings/test.csv")) == 10


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y%m%d"])
def test_times_of_these_forms_are_in_order(tmp_path, form):
    days = [datetime.date(2011, 1, 1) + datetime.timedelta(n) for n in range(100)]
    train = ("id", "day", "level"), [(n, f"{day:{form}}", n) for n, day in enumerate(days)]
    test = ("id", "day"), [(200, f"{datetime.date(2012, 1, 1):{form}}")]
    simple(tmp_path, train, test, (("id", "level"), [(200, 0)]))
    make(tmp_path, count=10, metric="mae", time="day")
    levels = [int(row["level"]) for row in read(tmp_path / "solutions/swings.hidden.csv")]
    assert levels == list(range(90, 100))


@pytest.mark.parametrize("form", ["%d/%m/%y", "%d.%m.%Y"])
def test_days_that_do_not_begin_with_a_whole_year_are_no_times(tmp_path, form):
    train = daily(tmp_path) / "train.csv"
    lines = train.read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for row in rows:
        row[1] = f"{datetime.date.fromisoformat(row[1]):{form}}"
    train.write_text("\n".join([lines[0], *map(",".join, rows)]) + "\n")
    with pytest.raises(ParameterError, match="values that are no times of one form"):
        make(tmp_path, metric="mae", time="day")


def test_a_time_of_another_form_is_refused(tmp_path):
    daily(tmp_path)
    train = tmp_path / "competitions/swings/train.csv"
    train.write_text(train.read_text().replace("2020-10-10", "October 10"))
    with pytest.raises(ParameterError, match="no times of one form, such as 'October 10'"):
        make(tmp_path, metric="mae", time="day")


def test_ids_that_are_times_stay_and_keep_their_order(tmp_path):
    days = [f"2011-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(100)]
    train = ("datetime", "count"), [(day, n) for n, day in enumerate(days)]
    test = ("datetime",), [("2012-01-01",), ("2012-01-02",)]
    simple(tmp_path, train, test, (("datetime", "count"), [("2012-01-01", 0), ("2012-01-02", 0)]))
    with pytest.raises(ParameterError, match=r'hidden = \{time = "datetime"\}'):
        make(tmp_path, metric="rmsle")
    made = make(tmp_path, metric="rmsle", time="datetime")
    hidden = [row["datetime"] for row in read(tmp_path / "hidden/swings/test.csv")]
    assert hidden == days[80:]
    left = [row["datetime"] for row in read(tmp_path / "hidden/swings/train.csv")]
    assert left == days[:80]
    assert "keep their ids" in "\n".join(made.notes)


def test_several_targets_are_answers(tmp_path):
    train = ("id", "speed", "low", "high"), [(n, n / 2, n, 2 * n) for n in range(40)]
    test = ("id", "speed"), [(100, 1), (101, 2)]
    simple(tmp_path, train, test, (("id", "low", "high"), [(100, 0, 0), (101, 0, 0)]))
    make(tmp_path, metric="mae")
    answers = {row["id"]: row for row in read(tmp_path / "solutions/swings.hidden.csv")}
    for row in read(tmp_path / "hidden/swings/test.csv"):
        answer = answers[row["id"]]
        assert float(answer["high"]) == 2 * float(answer["low"]) == 4 * float(row["speed"])


def test_columns_in_another_case_are_asked_about(tmp_path):
    train = ("ID", "speed", "kind"), [(n, n, "a") for n in range(40)]
    test = ("Id", "Speed"), [(100, 1), (101, 2)]
    simple(tmp_path, train, test, (("id", "kind"), [(100, "a"), (101, "a")]))
    with pytest.raises(ParameterError) as caught:
        make(tmp_path)
    assert 'columns = {Id = "COLUMN", Speed = "COLUMN"}' in str(caught.value)
    make(tmp_path, id="Id", columns={"Id": "ID", "Speed": "speed"})
    hidden = read(tmp_path / "hidden/swings/test.csv")
    assert list(hidden[0]) == ["Id", "Speed"]
    assert len(hidden) == 8


def test_csvs_as_others_write_them(tmp_path):
    public = tmp_path / "competitions/swings"
    public.mkdir(parents=True)
    csv.field_size_limit(131_072)  # Python's own, which another test may have raised
    long = "1 " * 1_500_000  # a mask, longer than the lines that DuckDB takes by default
    masks = [long, *["1 2"] * 49]
    lines = [
        f'{n};a{n:03d};train/a{n:03d}.png;"x\r\n""{n}""";01;2.50;{mask}'
        for n, mask in enumerate(masks)
    ]
    head = ";id;path;note;twice;twice;mask"
    text = "\r\n".join([head, *lines])
    (public / "train.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (public / "test.csv").write_text(";id;path;note\n0;a900;test/a900.png;z\n")
    (public / "a_submission.csv").write_text("id,mask\na900,\n")
    made = make(tmp_path)
    folder = tmp_path / "hidden/swings"
    assert (folder / "test.csv").read_text().split("\n", 1)[0] == ";id;path;note"
    with (folder / "train.csv").open(newline="") as file:
        kept = list(csv.reader(file, delimiter=";"))
    assert kept[0] == head.split(";")
    assert kept[1][4:6] == ["01", "2.50"]
    with (folder / "test.csv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            assert row["path"] == f"test/{row['id']}.png"
            assert row["note"] == f'x\r\n"{row[""]}"'
    assert "a_submission.csv is taken as the sample submission" in "\n".join(made.notes)


def test_a_path_does_not_give_the_class_away(tmp_path):
    rows = [(n, f"train/{'ab'[n % 2]}/{n}.png", "ab"[n % 2]) for n in range(50)]
    test = ("id", "path"), [(900, "test/900.png")]
    simple(tmp_path, (("id", "path", "kind"), rows), test, (("id", "kind"), [(900, "a")]))
    make(tmp_path)
    for row in read(tmp_path / "hidden/swings/test.csv"):
        assert row["path"] == f"test/{row['id']}.png"


def test_another_table_with_the_ids_lacks_the_hidden_rows_too(tmp_path):
    train = ("id", "speed", "kind"), [(f"s{n}", n, "a") for n in range(40)]
    test = ("id", "speed"), [("s100", 1)]
    public = simple(tmp_path, train, test, (("id", "kind"), [("s100", "a")]))
    write(public / "folds.csv", ("id", "fold", "kind"), [(f"s{n}", n % 5, "a") for n in range(40)])
    write(public / "shops.csv", ("shop",), [(1,)])
    made = make(tmp_path)
    folder = tmp_path / "hidden/swings"
    left = [row["id"] for row in read(folder / "train.csv")]
    assert [row["id"] for row in read(folder / "folds.csv")] == left
    assert (folder / "shops.csv").read_text() == (public / "shops.csv").read_text()
    assert "folds.csv lacks the hidden rows, too" in made.notes


def test_a_table_that_is_no_csv_is_refused_in_one_line(swings):
    train = swings / "competitions/swings/train.csv"
    train.write_bytes(train.read_bytes() + b"SEQ_0099_000,SEQ_0099,1,P99,0,up,\xe9\r\n")
    with pytest.raises(ParameterError, match=r"train\.csv cannot be read: .*unicode") as caught:
        make(swings, **NAMED)
    assert "\n" not in str(caught.value)
    train.write_bytes(b"row_id,sequence_id,person,kind\r\na,b,c,d\n")
    with pytest.raises(ParameterError, match="its lines end in different ways"):
        make(swings, **NAMED)


def test_without_duckdb_one_sentence_says_what_to_install(swings, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match=r"--make needs DuckDB.*: pip install duckdb"):
        make(swings, **NAMED)


def test_without_a_test_table_the_sample_submission_is_it(tmp_path):
    public = tmp_path / "competitions/swings"
    write(public / "train.csv", ("image", "kind"), [(f"{n}.jpg", n % 5) for n in range(100)])
    write(public / "sample_submission.csv", ("image", "kind"), [("900.jpg", 4)])
    for place in [*(f"train_images/{n}.jpg" for n in range(100)), "test_images/900.jpg"]:
        (public / place).parent.mkdir(exist_ok=True)
        (public / place).write_text(place)
    assert make(tmp_path).rows == 20
    folder = tmp_path / "hidden/swings"
    answers = {row["image"]: row["kind"] for row in read(tmp_path / "solutions/swings.hidden.csv")}
    asked = read(folder / "sample_submission.csv")
    assert [row["image"] for row in asked] == list(answers)
    assert {row["kind"] for row in asked} == {"4"}
    assert {path.name for path in (folder / "test_images").iterdir()} == set(answers)
    for one, kind in answers.items():
        number = int((folder / "test_images" / one).read_text()[len("train_images/") : -4])
        assert number % 5 == int(kind)


def test_partitioned_parquet_becomes_partitioned_parquet_of_whole_times(tmp_path):
    public = tmp_path / "competitions/swings"
    public.mkdir(parents=True)
    parts = "(FORMAT parquet, PARTITION_BY (day), FILENAME_PATTERN 'part-{i}')"
    rows = "SELECT i AS id, i // 4 + 1 AS day, 0.5 + i AS level FROM range(60) AS r(i)"
    test = "SELECT i AS id, 21 AS day FROM range(90, 98) AS r(i)"
    duckdb.execute(f"COPY ({rows}) TO '{public}/train.parquet' {parts}")
    duckdb.execute(f"COPY ({test}) TO '{public}/test.parquet' {parts}")
    write(public / "sample_submission.csv", ("id", "level"), [(n, 0) for n in range(90, 98)])
    with pytest.raises(ParameterError, match='group = "day"'):
        make(tmp_path, metric="mae")
    assert make(tmp_path, metric="mae", time="day").rows == 12
    folder = tmp_path / "hidden/swings"
    days = {path.name for path in (folder / "test.parquet").glob("day=*")}
    assert days == {"day=13", "day=14", "day=15"}
    assert not days & {path.name for path in (folder / "train.parquet").glob("day=*")}
    answers = read(tmp_path / "solutions/swings.hidden.csv")
    assert [(row["id"], row["level"]) for row in answers][:2] == [("98", "48.5"), ("99", "49.5")]
    hidden = duckdb.execute(
        f"SELECT id, typeof(id) FROM '{folder}/test.parquet/*/*.parquet' ORDER BY id"
    )
    assert hidden.fetchall() == [(98 + n, "BIGINT") for n in range(12)]


def test_an_unknown_column_in_columns_is_refused(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, "a") for n in range(40)]
    simple(tmp_path, train, (("id", "speed"), [(100, 1)]), (("id", "kind"), [(100, "a")]))
    with pytest.raises(ParameterError, match=r"test\.csv has no column 'sped'"):
        make(tmp_path, columns={"sped": "speed"})


def test_the_line_to_paste_lacks_what_was_refused(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, "a") for n in range(40)]
    simple(tmp_path, train, (("id", "velocity"), [(100, 1)]), (("id", "kind"), [(100, "a")]))
    with pytest.raises(ParameterError) as caught:
        make(tmp_path, columns={"sped": "speed", "velocity": "speed"})
    assert 'columns = {velocity = "speed", COLUMN = "COLUMN"}' in str(caught.value)


def test_a_new_number_that_the_ids_type_cannot_hold_is_refused_in_one_line(tmp_path):
    public = tmp_path / "competitions/swings"
    public.mkdir(parents=True)
    rows = "SELECT i::TINYINT AS id, i AS speed FROM range({}, {}) AS r(i)"
    trained = f"SELECT *, speed AS kind FROM ({rows.format(0, 120)})"
    duckdb.execute(f"COPY ({trained}) TO '{public}/train.parquet'")
    duckdb.execute(f"COPY ({rows.format(120, 125)}) TO '{public}/test.parquet'")
    write(public / "sample_submission.csv", ("id", "kind"), [(n, 0) for n in range(120, 125)])
    with pytest.raises(ParameterError, match="Conversion Error") as caught:
        make(tmp_path, group="id")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "hidden/swings").exists()
