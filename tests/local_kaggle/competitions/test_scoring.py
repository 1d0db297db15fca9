import csv
import math
import sys
import zipfile

import pytest

from local_kaggle.competitions.scoring import SubmissionError, lower_is_better, scores

LABELS = 'metric = "f1_macro"\ncolumns = ["id", "label"]\n', "id,label\na,0\nb,1\nc,1\n"
SOLD = "store,sales\na,1.5\nb,2\n"
CROPS = 'metric = "accuracy"', "plot,crop\na,rye\nb,oats\n"
SALES = 'metric = "rmse"\ncolumns = ["store", "sales"]\n', SOLD


@pytest.fixture
def scored(tmp_path):
    """Scores a submission by rules and a solution."""

    def scored(submission, rules, solution, **options):
        texts = {"submission.csv": submission, "contest.csv": solution, "contest.toml": rules}
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        file = tmp_path / "submission.csv"
        return scores(file, tmp_path / "contest.toml", **options).public

    return scored


@pytest.mark.parametrize("usage", ["Private", "Ignored"])
def test_rows_that_are_not_public_do_not_count(scored, usage):
    solution = f"id,label,Usage\na,0,Public\nb,1,{usage}\n"
    assert scored("id,label\na,0\nb,2\n", LABELS[0], solution) == 1.0


@pytest.mark.parametrize(
    ("contest", "submission", "words"),
    [
        (LABELS, "id,label\na,0\n", "must have 3 rows, not 1"),
        (LABELS, "id,label\na,0\nb,1\nd,1\n", "lacks 1 ids, among them c"),
        (LABELS, "id,label\na,0\na,1\nc,1\n", "the id a twice"),
        (LABELS, "id,label\na,x\nb,1\nc,1\n", "the label 'x' at a: give a number"),
        (LABELS, "", "columns id and label"),
        (LABELS, "id,label\na\nb,1\nc,1\n", "the label '' at a"),
        (SALES, "id,label\na,1\nb,2\n", "the columns store and sales, not id, label"),
        (SALES, "store,sales\na,1\nb,nan\n", "the sales 'nan' at b: give a number"),
        (CROPS, "plot,crop\na,rye\nb,\n", "the crop '' at b: give a label"),
        (('metric = "roc_auc"', SOLD), SOLD, "cannot be scored: roc_auc: "),
        (('metric = "roc_auc"', "id,p\na,1\nb,1\n"), "id,p\na,0\nb,1\n", "roc_auc is nan"),
    ],
)
def test_a_submission_that_cannot_be_scored_says_why(scored, contest, submission, words):
    with pytest.raises(SubmissionError, match=words):
        scored(submission, *contest)


def test_a_gateway_names_the_only_column_as_its_host_does(scored):
    assert scored("store,prediction\na,1.5\nb,2\n", *SALES, by_gateway=True) == 0.0
    for submission in ("store,prediction,more\na,1.5,0\nb,2,0\n", "shop,sales\na,1.5\nb,2\n"):
        with pytest.raises(SubmissionError, match="must have the columns store"):
            scored(submission, *SALES, by_gateway=True)


def test_several_predicted_columns_score_their_mean(scored):
    solution = "day,low,high,Usage\nmon,1,2,Public\ntue,3,4,Public\n"
    rules = 'metric = "mae"\n'  # the columns are those of the answers
    found = scored("day,low,high\ntue,3,7\nmon,2,2\n", rules, solution)
    assert found == pytest.approx((0.5 + 1.5) / 2)


def test_cells_may_be_as_long_as_masks_are(scored):
    csv.field_size_limit(131_072)  # Python's own, which another test may have raised
    mask = "1 2 " * 50_000
    table = f"id,label\n1,{mask}\n"
    assert scored(table, 'metric = "accuracy"', table) == 1.0


def test_labels_may_be_words_and_the_metric_scikit_learns(scored):
    assert scored("plot,crop\na,rye\nb,rye\n", 'metric = "cohen_kappa_score"', CROPS[1]) == 0.0


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("", "does not say how to score this .*'metric'"),
        ("metric =", "write solutions/contest.toml, for example"),
        ('metric = "rsme"', "no metric 'rsme': choose accuracy, "),
        ('metric = "rmse"\nheader = ["a"]', "'header'.* it also takes columns, answers"),
        ('metric = "rmse"\ncolumns = ["store", "sold"]', "the columns store and sold"),
        ('metric = "rmse"\nanswers = "{lost}.csv"', "put them in solutions/{lost}.csv"),
    ],
)
def test_rules_that_do_not_say_how_to_score_are_the_catalogues_fault(scored, rules, words):
    with pytest.raises(SubmissionError, match=words) as caught:
        scored(SOLD, rules, SOLD)
    assert str(caught.value).startswith("rehearsal: ")


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        ("store,sales\na,rye\nb,\n", "has the sales '' at b: give a label"),
        ("store,sales,Usage\na,1,Ignored\nb,2,Ignored\n", "there is nothing to score"),
        ("store,Usage\na,Public\n", "there is nothing to score"),
    ],
)
def test_answers_that_do_not_score_are_the_catalogues_fault(scored, solution, words):
    with pytest.raises(SubmissionError, match=f"rehearsal: solutions/contest.csv: .*{words}"):
        scored(SOLD, 'metric = "accuracy"', solution)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("accuracy", 0.75),
        ("f1_macro", (2 / 3 + 4 / 5) / 2),
        ("mae", 0.25),
        ("rmse", 0.5),
        ("rmsle", 0.5 * math.log(2)),
        ("roc_auc", 0.75),
    ],
)
def test_the_usual_metrics(scored, metric, score):
    solution, submission = "id,y\na,0\nb,0\nc,1\nd,1\n", "id,y\na,0\nb,1\nc,1\nd,1\n"
    found = scored(submission, f'metric = "{metric}"', solution)
    assert found == pytest.approx(score)


def test_log_loss_takes_the_probability_of_1(scored):
    found = scored("id,y\na,0.25\nb,0.5\n", 'metric = "log_loss"', "id,y\na,1\nb,1\n")
    assert found == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_a_file_alone_in_an_archive_is_scored_and_what_is_no_table_is_not(tmp_path):
    (tmp_path / "contest.csv").write_text(SOLD)
    (tmp_path / "contest.toml").write_text(SALES[0])
    rules = tmp_path / "contest.toml"
    packed = tmp_path / "submission.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("any.csv", SOLD)
    assert scores(packed, rules).public == 0.0
    packed.write_bytes(b"no archive")
    with pytest.raises(SubmissionError, match="not a CSV file, plain or in a ZIP archive"):
        scores(packed, rules)


def test_without_scikit_learn_it_is_asked_for(scored, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(SubmissionError, match="install scikit-learn"):
        scored(SOLD, *SALES)


METRIC = """\
def score(solution, submission, row_id_column_name):
    if submission["high"].max() > 100:
        raise ValueError("high is at most 100")
    assert list(solution[row_id_column_name]) == list(submission[row_id_column_name])
    return float((solution["true"] - submission["low"] - submission["high"]).abs().mean())
"""
FUNCTION = "id,true,Usage\na,3,Public\nb,5,Public\nc,9,Private\n"


@pytest.fixture
def by_function(scored, tmp_path):
    """Scores a submission by a function of somebody's, whose columns are not the answers'."""
    pytest.importorskip("pandas")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/garden_metric.py").write_text(METRIC)

    def by_function(submission, name="garden_metric:score"):
        rules = f'metric = "{name}"\npath = ["{tmp_path}/own"]\ncolumns = ["id"]\n'
        return scored(submission, rules, FUNCTION)

    return by_function


def test_a_function_in_the_form_of_kaggles_metrics_scores(by_function):
    assert by_function("id,low,high\nc,0,0\nb,1,2\na,1,2\n") == 1.0


@pytest.mark.parametrize(
    ("submission", "name", "words"),
    [
        (
            "id,low,high\na,1,200\nb,1,2\nc,0,0\n",
            "garden_metric:score",
            "^Submission cannot be scored: ValueError: high is at most 100",
        ),
        (
            "id,low,high\na,1,2\nb,1,2\nc,0,0\n",
            "garden_metric:mean",
            "^rehearsal: the metric garden_metric:mean cannot be called: AttributeError",
        ),
        ("id,low,high\na,1,2\n", "garden_metric:score", "must have 3 rows, not 1"),
    ],
)
def test_a_function_that_gives_no_score_says_why(by_function, submission, name, words):
    with pytest.raises(SubmissionError, match=words):
        by_function(submission, name)


@pytest.mark.parametrize(("line", "lowest"), [("", False), ("minimize = true\n", True)])
def test_whether_the_lowest_value_of_a_function_wins_is_said(tmp_path, line, lowest):
    (tmp_path / "contest.toml").write_text(f'metric = "garden_metric:score"\n{line}')
    assert lower_is_better(tmp_path / "contest.toml") is lowest
