"""Every tool ends in one message and its exit code."""

import pytest

from kernelkit.cli import reports_errors
from kernelkit.errors import RefusedError


def ending_in(error):
    @reports_errors
    def command():
        raise error

    return command


@pytest.mark.parametrize(("error", "code"), [
    (RefusedError("no\x1b]0;title\x07\x9b5n"), 5),
    (PermissionError(13, "Permission denied", "a\x1b]0;title\x07"), 12),
])  # fmt: skip
def test_no_control_sequence_reaches_the_terminal(capsys, error, code):
    with pytest.raises(SystemExit) as ended:
        ending_in(error)()
    assert ended.value.code == code
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert not [c for c in message.rstrip("\n") if c < " " or "\x7f" <= c <= "\x9f"]
