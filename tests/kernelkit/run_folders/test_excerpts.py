"""What is too long is shown from both ends, and the rest is counted."""

from kernelkit.run_folders.excerpts import excerpt


def test_a_short_text_is_whole():
    assert excerpt("petals", 6, "there") == "petals"


def test_a_long_text_names_what_is_left_out():
    message = excerpt("a" * 50 + "x" * 900 + "b" * 50, 100, "the log has them")
    middle = "\n… 900 characters omitted: the log has them …\n"
    assert message == "a" * 50 + middle + "b" * 50
