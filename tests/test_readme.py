"""The README's facts that code can check."""

import re
from pathlib import Path

import click
import pytest

from kernelkit import errors

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def exit_codes(text: str) -> dict[int, str]:
    return {
        int(code): what.strip() for code, what in re.findall(r"^\| (\d+) \| (.+) \|$", text, re.M)
    }


def test_exit_codes_are_the_codes_own_table():
    documented, written = exit_codes(README), exit_codes(errors.__doc__)
    assert set(documented) == set(written) - {1}
    raised = {
        error.exit_code for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.KernelkitError)
    }  # fmt: skip
    assert raised <= set(written)


def test_every_file_it_names_is_there():
    named = re.findall(r"`((?:src|tools|tests|notebooks|docs)/[\w./-]+)`", README)
    named += re.findall(r"\]\(((?:docs|notebooks|src)/[\w./-]+)\)", README)
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_tool_is_mentioned():
    for tool in (ROOT / "tools").glob("*.py"):
        assert f"tools/{tool.name}" in README, tool.name


def test_every_parameter_it_uses_exists():
    from kernelkit.notebooks import document, parameters

    train = document.read(ROOT / "notebooks" / "02_train.py")
    known = parameters.declared(document.parameters_cell(train).source)
    makefile = (ROOT / "Makefile").read_text()
    used = set(re.findall(r"-p (\w+)=", README + makefile)) - {"backbon", "name"}
    assert len(used) > 4
    assert used <= set(known)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z]+)`", README))))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize("tool", ["run_notebook", "push_kernel", "push_dataset", "local_kaggle"])
def test_options_it_shows_exist(tool):
    import importlib.util

    spec = importlib.util.spec_from_file_location(tool, ROOT / "tools" / f"{tool}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.main, click.Command)
    known = {option for p in module.main.params for option in (*p.opts, *p.secondary_opts)}
    shown = set()
    for block in re.findall(rf"tools/{tool}\.py([^`]*)", README):
        shown |= set(re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", block.split("\n\n")[0].split("\n")[0]))
    assert shown <= known | {"--help"}
