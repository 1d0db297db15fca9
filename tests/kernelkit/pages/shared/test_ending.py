"""How a run ended, as its executed notebook shows it."""

import nbformat

from kernelkit.pages.shared import ending


def test_a_cell_that_is_meant_to_fail_is_no_failure():
    error = nbformat.v4.new_output("error", ename="ValueError", evalue="wanted", traceback=["x"])
    cell = nbformat.v4.new_code_cell("1 / 0", outputs=[error], execution_count=1)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert ending.failure(notebook) == "ValueError: wanted"
    cell.metadata["tags"] = ["raises-exception"]
    assert ending.failure(notebook) == ""
