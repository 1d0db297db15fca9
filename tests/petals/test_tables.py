from petals.tables import Table, shown


def test_a_table_shows_itself_twice():
    table = Table.of([{"run": "a<b", "macro F1": 0.5}, {"run": "long name", "macro F1": None}])
    assert str(table).splitlines() == ["run        macro F1", "a<b        0.5000", "long name  –"]
    html = table._repr_html_()
    assert "<th>macro F1</th>" in html
    assert "a&lt;b" in html


def test_an_empty_table_is_no_error():
    assert str(Table.of([])) == ""


def test_values_are_written_as_people_do():
    assert [shown(v) for v in (0.12345, 12.34, 12345.6, 7382, True, None, 0.0)] == [
        "0.1235", "12.3", "12,346", "7,382", "True", "–", "0.0",
    ]  # fmt: skip
