"""The page over all commands, from the commands themselves."""

import click

from kernelkit.commands import reference


@click.group()
def tool():
    """Does things."""


@tool.command()
@click.argument("folder")
@click.option("--size", metavar="N|all", help="Pixels | all.")
@click.option("--old", hidden=True)
def write(folder, size, old):
    """Write FOLDER.

    More of it.
    """


def test_each_command_has_a_section_with_its_usage_help_and_options():
    page = reference.markdown({"python tools/t.py": tool}, {})
    assert "is the command" not in page
    assert "## python tools/t.py\n" in page
    section = page.split("## python tools/t.py write\n")[1]
    assert "`python tools/t.py write [OPTIONS] FOLDER`" in section
    assert "\nWrite FOLDER.\n\nMore of it.\n" in section
    assert "| `--size N\\|all` | Pixels \\| all. |" in section
    assert "--old" not in section and "--help" in section


def test_other_words_that_start_a_command_are_in_a_table_before_the_sections():
    page = reference.markdown({"kit": tool}, {"python tools/t.py": "kit write"})
    assert "| `python tools/t.py` | `kit write` |" in page.split("\n## ")[0]
