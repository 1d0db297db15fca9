import ast

import pytest

from kernelkit.notebook.language import syntax


@pytest.fixture
def disturbed(monkeypatch):
    """`disturbed(n)`: the next n trees are built while another thread builds one."""
    parse, left = ast.parse, []

    def disturbing(*arguments, **keywords):
        if left:
            raise SystemError(left.pop())
        return parse(*arguments, **keywords)

    monkeypatch.setattr(ast, "parse", disturbing)
    return lambda times: left.extend(["AST constructor recursion depth mismatch"] * times)


def test_a_source_is_parsed_again_when_another_thread_disturbed_its_tree(disturbed):
    disturbed(2)
    assert ast.unparse(syntax.parse("x = 1")) == "x = 1"


def test_an_interpreter_that_never_parses_is_said_so(disturbed):
    disturbed(100)
    with pytest.raises(SystemError, match="recursion depth mismatch"):
        syntax.parse("x = 1")
