import pytest

from petals.tables import Table


def test_a_table_shows_itself_twice():
    table = Table.of([{"run": "a<b", "macro F1": 0.5}, {"run": "long name", "macro F1": None}])
    lines = ["run        macro F1", "a<b          0.5000", "long name         –"]
    assert str(table).splitlines() == lines
    html = table._repr_html_()
    assert "<th>run</th>" in html
    assert "a&lt;b" in html


def test_an_empty_table_is_no_error():
    assert str(Table.of([])) == ""


@pytest.mark.parametrize(
    ("column", "values", "texts"),
    [
        ("macro F1", [0.95341, 1.0, None], ["0.9534", "1.0000", "–"]),
        ("MB", [0.7, 0.04], ["0.70", "0.04"]),
        ("MB a shard", [12.34, 0.7], ["12.3", "0.7"]),
        ("kB an image", [0.001, 5.0], ["0.001", "5.00"]),
        ("first epoch, s", [1234.5, 2.0], ["1,234", "2"]),
        ("minutes", [0.75], ["0.75"]),
        ("images/s", [469.28], ["469"]),
        ("loss", [0.25, 1.5], ["0.250", "1.500"]),
        ("trainable", [7382, None, 12], ["7,382", "–", "12"]),
        ("frozen", [True, None], ["True", "–"]),
        ("runs", ["a", 3], ["a", "3"]),
    ],
)
def test_values_are_written_as_people_do(column, values, texts):
    table = Table.of([{"first": "x", column: value} for value in values])
    cells = [line.split()[-1] for line in str(table).splitlines()[1:]]
    assert cells == texts
    assert all(f">{text}</td>" in table._repr_html_() for text in texts)


def test_numbers_stand_to_the_right_and_words_to_the_left():
    table = Table.of([{"run": "a", "s": 2.5, "of": 3}, {"run": "long", "s": 100.0, "of": 12}])
    assert str(table).splitlines() == ["run     s  of", "a       2   3", "long  100  12"]
    html = table._repr_html_()
    assert '<th>run</th><th style="text-align: right">s</th>' in html
    assert '<td>a</td><td style="text-align: right">2</td>' in html
