"""A wrong word leads to the right one."""

import pytest
from click.testing import CliRunner

from kernelkit.cli.commands.check import check
from kernelkit.cli.commands.push import push
from kernelkit.cli.commands.run import run


@pytest.mark.parametrize("kind", ["gpu", "tpu", "cpu"])
def test_a_machine_as_an_option_leads_to_accelerator(kind):
    done = CliRunner().invoke(push, [f"--{kind}"])
    assert done.exit_code == 2
    assert f"Did you mean '--accelerator {kind}'?" in done.output


def test_another_unknown_option_is_told_as_ever():
    assert "Did you mean '--output'" in CliRunner().invoke(push, ["--outputs"]).output


@pytest.mark.parametrize("command", [run, check])
def test_a_notebook_without_its_ending_is_named_with_it(repository, command):
    name = str(repository.notebook.with_suffix(""))
    repository.describe(code_file="notebooks/other.ipynb")
    done = CliRunner().invoke(command, [name])
    assert "did you mean train.ipynb?" in done.output
