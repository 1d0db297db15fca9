"""`kernelkit run NOTEBOOK -p`: what can be set."""

import json

from click.testing import CliRunner

from kernelkit.cli.commands.run import run


def test_it_lists_the_parameters_with_defaults_ranges_and_comments(repository, notebook_code):
    text = "epochs = 3  # >= 1: passes\nname = 'x'"
    repository.cells(notebook_code(text, ["parameters"]))
    done = CliRunner().invoke(run, [str(repository.notebook), "-p"])
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.output.splitlines()]
    assert lines == ["parameters epochs = 3 >= 1: passes", "name = 'x'"]
    assert not repository.runs.exists()


def test_programs_get_them_as_json(repository, notebook_code):
    repository.cells(notebook_code("epochs = 3  # >= 1: passes", ["parameters"]))
    done = CliRunner().invoke(run, [str(repository.notebook), "-p", "--json"])
    (parameter,) = json.loads(done.output)["parameters"]
    assert parameter == {"name": "epochs", "default": 3, "comment": ">= 1: passes"}


def test_a_notebook_without_any_says_how_to_make_them(repository):
    repository.sources("print(1)")
    done = CliRunner().invoke(run, [str(repository.notebook), "-p"])
    assert "it has none: tag a cell" in done.output
