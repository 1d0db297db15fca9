"""Hidden data of other forms: several tables, a gateway, images in folders, a command."""

import csv
import json

import pytest
from csv_files import read, write

from kernelkit.errors import ParameterError
from kernelkit.hidden.hidden_content import RunTime
from kernelkit.hidden.hidden_data import make_hidden_data
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


NAMED = {"id": "sequence_id", "target": ["kind"]}


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
    assert made.public_rows == 2
    assert len(sets.hidden_ids) == made.rows == sets.hidden_rows


def test_without_a_sample_submission_id_and_target_are_asked_for_in_one_line(swings):
    with pytest.raises(ParameterError) as caught:
        make(swings)
    text = str(caught.value)
    assert "train.csv has 'phase', 'kind' that test.csv lacks" in text
    assert 'hidden = {id = "COLUMN", target = ["COLUMN"], metric = "accuracy"}' in text
    assert "\n" not in text


def test_a_file_that_the_gateway_serves_and_nothing_is_like_is_said(swings):
    public = swings / "competitions/swings"
    (public / "train_people.csv").unlink()
    with pytest.raises(ParameterError, match=r"serves test_people\.csv, and there is no train_peo"):
        make(swings, **NAMED)


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


def test_several_targets_and_a_header_in_another_case(tmp_path):
    train = ("ID", "speed", "low", "high"), [(n, n / 2, n, 2 * n) for n in range(40)]
    test = ("Id", "Speed"), [(100, 1), (101, 2)]
    simple(tmp_path, train, test, (("id", "low", "high"), [(100, 0, 0), (101, 0, 0)]))
    make(tmp_path, metric="mae")
    hidden = read(tmp_path / "hidden/swings/test.csv")
    assert list(hidden[0]) == ["Id", "Speed"]
    answers = {row["id"]: row for row in read(tmp_path / "solutions/swings.hidden.csv")}
    for row in hidden:
        answer = answers[row["Id"]]
        assert float(answer["high"]) == 2 * float(answer["low"]) == 4 * float(row["Speed"])


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


def test_days_stay_days_in_their_order(tmp_path):
    days = [f"2011-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(100)]
    train = ("datetime", "count"), [(day, n) for n, day in enumerate(days)]
    test = ("datetime",), [("2012-01-01",), ("2012-01-02",)]
    simple(tmp_path, train, test, (("datetime", "count"), [("2012-01-01", 0), ("2012-01-02", 0)]))
    made = make(tmp_path, metric="rmsle")
    hidden = [row["datetime"] for row in read(tmp_path / "hidden/swings/test.csv")]
    assert hidden == sorted(hidden)
    assert set(hidden) < set(days)
    assert not set(hidden) & {row["datetime"] for row in read(tmp_path / "hidden/swings/train.csv")}
    assert "keep their ids" in "\n".join(made.notes)


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


@pytest.fixture
def photos(tmp_path):
    """A competition of photos in folders of classes, two of which have a photo of one name."""
    public = tmp_path / "competitions/swings"
    for kind in ("cat", "dog"):
        for n in range(30):
            path = public / f"train/{kind}/{n}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{kind} {n}")
    (public / "test").mkdir()
    for n in (1, 2, 3):
        (public / f"test/{n}.jpg").write_text("public")
    write(public / "sample_submission.csv", ("id", "label"), [(n, "cat") for n in (1, 2, 3)])
    return tmp_path


def test_photos_in_folders_of_classes_become_test_photos(photos):
    made = make(photos)
    folder = photos / "hidden/swings"
    answers = {row["id"]: row["label"] for row in read(photos / "solutions/swings.hidden.csv")}
    assert made.rows == len(answers) == 12
    assert {path.stem for path in (folder / "test").iterdir()} == set(answers)
    for one, label in answers.items():
        assert (folder / f"test/{one}.jpg").read_text().split()[0] == label
    assert sorted(answers.values()).count("cat") == 6
    assert [row["id"] for row in read(folder / "sample_submission.csv")] == list(answers)
    assert len(list((folder / "train").rglob("*.jpg"))) == 48


def test_of_photos_too_everything_is_asked_for_at_once(photos):
    public = photos / "competitions/swings"
    write(public / "sample_submission.csv", ("id", "cat", "dog"), [(n, 0, 1) for n in (1, 2)])
    with pytest.raises(ParameterError) as caught:
        make(photos, metric="")
    assert str(caught.value).startswith("2 things cannot be guessed")
    assert str(caught.value).endswith('hidden = {metric = "rmse", target = ["COLUMN"]}')


def test_numbers_for_classes_that_have_names_are_said(photos):
    public = photos / "competitions/swings"
    write(public / "sample_submission.csv", ("id", "label"), [(n, 0) for n in (1, 2, 3)])
    with pytest.raises(ParameterError, match=r"numbers for classes.*hidden = \{command"):
        make(photos)


COMMAND = """\
import pathlib, sys
public, hidden, answers, rows = sys.argv[1:]
print("recording", rows)
pathlib.Path(hidden, "records.bin").write_bytes(pathlib.Path(public, "records.bin").read_bytes())
pathlib.Path(answers).write_text("id,label\\nx1,0\\nx2,1\\n")
"""


@pytest.fixture
def records(tmp_path):
    public = tmp_path / "competitions/swings"
    write(public / "sample_submission.csv", ("id", "label"), [("p1", 0)])
    (public / "records.bin").write_bytes(b"records")
    (tmp_path / "hide.py").write_text(COMMAND)
    return tmp_path


SAMPLE = "pathlib.Path(hidden, 'sample_submission.csv').write_text('{}'); print("
RUN = "python hide.py {public} {hidden} {answers} {rows}"


def test_what_no_table_holds_is_made_by_a_command_of_the_project(records):
    told = []
    project = Project(records, hidden=HiddenSettings(metric="accuracy", command=RUN))
    made = make_hidden_data(records, "swings", project, 2, told.append)
    assert (made.rows, made.public_rows) == (2, 1)
    assert told == ["recording 2"]
    assert (records / "hidden/swings/records.bin").read_bytes() == b"records"
    rules = (records / "solutions/swings.toml").read_text()
    assert rules == 'metric = "accuracy"\ncolumns = ["id", "label"]\n'
    manifest = json.loads((records / "hidden/swings/.made_by_kernelkit.json").read_text())
    assert manifest["recipe"]["settings"]["command"] == RUN


def test_a_command_can_know_how_many_rows_the_time_allows(records):
    text = COMMAND.replace("rows = sys", "rows, in_time = sys").replace(
        'ing", rows', 'ing", in_time'
    )
    (records / "hide.py").write_text(text)
    settings = HiddenSettings(metric="accuracy", command=f"{RUN} {{in_time}}")
    told = []

    def make_by_command(count, minutes):
        project = Project(records, hidden=settings)
        time = RunTime(minutes) if minutes else None
        make_hidden_data(records, "swings", project, count, told.append, time)
        (records / "solutions/swings.hidden.csv").unlink()  # so that it is made again

    make_by_command(None, 0.05)
    make_by_command(None, None)
    make_by_command(2, 0.05)
    assert told == ["recording 300", "recording 0", "recording 0"]


def test_a_metric_is_asked_for_before_the_command_runs(records):
    project = Project(records, hidden=HiddenSettings(command=RUN))
    told = []
    with pytest.raises(ParameterError, match="not known how swings is scored") as caught:
        make_hidden_data(records, "swings", project, 2, told.append)
    assert 'command = "python hide.py {public} {hidden} {answers} {rows}"' in str(caught.value)
    assert not told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("x1,0", "p1,0"), "have 'p1', an id of the public set"),
        (("x2,1", "x1,1"), "an id twice"),
        (("x1,0\\nx2,1\\n", ""), "need a row for each id"),
        (("pathlib.Path(answers)", "pathlib.Path(hidden, 'a')"), "it wrote no {answers}"),
        (("print(", "sys.exit('no photos'); print("), "no photos"),
        (("print(", SAMPLE.format("id,label\\nx1,0\\n")), "not those of its sample submission"),
        (("print(", SAMPLE.format("")), "not those of its sample submission"),
    ],
)
def test_a_command_that_leaves_something_else_is_refused(records, change, said):
    (records / "hide.py").write_text(COMMAND.replace(*change))
    with pytest.raises(ParameterError) as caught:
        make(records, command=RUN)
    assert said in str(caught.value)
    assert "hidden = {command = …}" in str(caught.value)
    assert not (records / "hidden/swings").exists()


def test_without_a_test_set_it_is_asked_how_one_is_made(records):
    with pytest.raises(ParameterError, match=r"hidden = \{command = "):
        make(records)
    with pytest.raises(ParameterError, match=r"Besides, it is not known how swings is scored"):
        make(records, metric="")


def test_partitioned_parquet_is_written_as_it_was_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import dataset

    public = tmp_path / "competitions/swings"
    columns = {"id": list(range(60)), "day": [1 + n // 4 for n in range(60)], "level": [0.5] * 60}
    train = pyarrow.table(columns)
    test = pyarrow.table({"id": list(range(90, 98)), "day": [0] * 4 + [21] * 4})
    parts = dataset.partitioning(pyarrow.schema([("day", pyarrow.int64())]), flavor="hive")
    for name, table in (("train", train), ("test", test)):
        dataset.write_dataset(
            table, public / f"{name}.parquet", format="parquet", partitioning=parts
        )
    write(public / "sample_submission.csv", ("id", "level"), [(n, 0) for n in range(90, 98)])
    made = make(tmp_path, metric="mae")
    folder = tmp_path / "hidden/swings"
    hidden = dataset.dataset(folder / "test.parquet", partitioning="hive").to_table()
    days = {path.name for path in (folder / "test.parquet").glob("day=*")}
    left = {path.name for path in (folder / "train.parquet").glob("day=*")}
    assert hidden.num_rows == made.rows == 12
    assert len(days) == 3
    assert not days & left
    assert "rows of one 'day' stay together" in "\n".join(made.notes)


def test_a_later_public_test_set_hides_the_last_rows_in_time(tmp_path):
    rows = [(n, f"2020-{1 + n // 20:02d}-{1 + n // 2 % 10:02d}", n % 4, n) for n in range(200)]
    train = ("id", "day", "shop", "sold"), rows[::-1]
    test = ("id", "day", "shop"), [(900 + n, f"2021-01-0{1 + n // 2}", n % 4) for n in range(6)]
    simple(tmp_path, train, test, (("id", "sold"), [(900 + n, 0) for n in range(6)]))
    made = make(tmp_path, count=15, metric="mae")
    folder = tmp_path / "hidden/swings"
    hidden = [row["day"] for row in read(folder / "test.csv")]
    left = [row["day"] for row in read(folder / "train.csv")]
    assert min(hidden) > max(left)
    assert len(hidden) == 16, "days stay whole"
    assert [row["id"] for row in read(folder / "test.csv")] == [str(906 + n) for n in range(16)]
    assert "the hidden rows are the last ones by 'day'" in "\n".join(made.notes)
    make(tmp_path, count=15, metric="mae", group="shop")
    assert len({row["shop"] for row in read(folder / "test.csv")}) == 1


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
    assert "40 rows of train.csv lack an answer" in "\n".join(made.notes)


def test_csvs_as_others_write_them(tmp_path):
    public = tmp_path / "competitions/swings"
    public.mkdir(parents=True)
    csv.field_size_limit(131_072)  # Python's own, which another test may have raised
    long = "1 " * 100_000  # a mask, longer than the cells that Python's csv takes by default
    lines = [f'{n};a{n:03d};train/a{n:03d}.png;"x\r\n""{n}""";1;2;{long}' for n in range(50)]
    head = ";id;path;note;twice;twice;mask"
    text = "\r\n".join([head, *lines])
    (public / "train.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (public / "test.csv").write_text(";id;path;note\n0;a900;test/a900.png;z\n")
    (public / "a_submission.csv").write_text("id,mask\na900,\n")
    made = make(tmp_path)
    folder = tmp_path / "hidden/swings"
    first, *rows = (folder / "test.csv").read_text().split("\n", 1)
    assert first == ";id;path;note"
    assert rows[0].startswith('"') is False
    with (folder / "train.csv").open(newline="") as file:
        kept = list(csv.reader(file, delimiter=";"))
    assert kept[0] == head.split(";")
    assert kept[1][4:6] == ["1", "2"]
    with (folder / "test.csv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            assert row["path"] == f"test/{row['id']}.png"
            assert row["note"] == f'x\r\n"{row[""]}"'
    assert "a_submission.csv is taken as the sample submission" in "\n".join(made.notes)


def test_packed_tables_are_to_be_unpacked(swings):
    train = swings / "competitions/swings/train.csv"
    train.rename(train.with_name("train.csv.zip"))
    with pytest.raises(ParameterError, match=r"train\.csv\.zip is packed: unpack it there"):
        make(swings, **NAMED)


def test_a_sparse_feature_whose_public_values_are_new_groups_nothing(tmp_path):
    values = [0] * 40 + list(range(1000, 1060))
    train = ("id", "bill", "kind"), [(n, value, "a") for n, value in enumerate(values)]
    test = ("id", "bill"), [(200, 5), (201, 6), (202, 7)]
    simple(tmp_path, train, test, (("id", "kind"), [(n, "a") for n in (200, 201, 202)]))
    assert make(tmp_path).rows == 20
    assert "stay together" not in "\n".join(make(tmp_path).notes)


def test_a_sample_submission_in_another_order_than_the_test_table_stays_in_another(tmp_path):
    train = ("id", "speed", "kind"), [(n, n, "a") for n in range(60)]
    test = ("id", "speed"), [(100, 1), (101, 2), (102, 3)]
    simple(tmp_path, train, test, (("id", "kind"), [(102, "a"), (100, "a"), (101, "a")]))
    make(tmp_path)
    folder = tmp_path / "hidden/swings"
    ids = [row["id"] for row in read(folder / "test.csv")]
    asked = [row["id"] for row in read(folder / "sample_submission.csv")]
    assert sorted(ids) == sorted(asked)
    assert ids != asked
