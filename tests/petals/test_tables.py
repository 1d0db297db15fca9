import pytest

from petals.tables import Table


def test_a_table_shows_itself_twice():
    table = Table([{"run": "a<b", "macro F1": 0.5}, {"run": "long name", "macro F1": None}])
    lines = ["run        macro F1", "a<b          0.5000", "long name         –"]
    assert str(table).splitlines() == lines
    html = table._repr_html_()
    assert '<th style="text-align: left">run</th>' in html
    assert '<td style="text-align: right">0.5000</td>' in html
    assert "a&lt;b" in html


def test_an_empty_table_is_no_error():
    assert str(Table([])) == ""


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.95341, 1.0, None], ["0.9534", "1.0000", "–"]),
        ([1e-5, 0.01], ["1e-05", "0.0100"]),
        ([12.34, 0.7], ["12.3", "0.7"]),
        ([1234.5, 2.0], ["1,234", "2"]),
        ([0.25, 1.5], ["0.250", "1.500"]),
        ([7382, None, 12], ["7,382", "–", "12"]),
        ([True, None], ["True", "–"]),
        (["a", 3], ["a", "3"]),
    ],
)
def test_values_are_written_as_people_do(values, texts):
    table = Table([{"first": "x", "second": value} for value in values])
    assert [line.split()[-1] for line in str(table).splitlines()[1:]] == texts
    assert all(f">{text}</td>" in table._repr_html_() for text in texts)
