"""The page of what the clients' own tests make of the local Kaggle."""

from collections import Counter


def test_it_counts_by_family_and_names_what_did_not_pass(tool):
    table = tool("suites/table")["table"]
    models = {"test_a": "passed", "test_b": "failure: no\n  /tmp/some/where/else.py there"}
    page = table(
        {"kagglehub": {"models": models}}, Counter({"GetModel": 3, "Download": 1}), ["hub 1.0"]
    )
    assert "This page is of hub 1.0." in page
    assert "## kagglehub: 1 of 2" in page
    assert "| models | 1 | 2 |" in page
    assert "- `test_b`: failure: no … there\n" in page
    assert page.endswith("\n`GetModel`\n")
