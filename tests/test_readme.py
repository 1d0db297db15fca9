"""The facts of README and docs that code can check."""

import ast
import re
import runpy
from dataclasses import fields
from pathlib import Path

import click
import pytest

from kernelkit import errors
from kernelkit.commands import console
from local_kaggle.command import command as local_kaggle

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
DOCS = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text()
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
# About other repositories, whose files and parameters are not here.
ELSEWHERE = {
    "tutorials/another-repository.md",
    "tutorials/first-submission.md",
    "reference/settings.md",
    "reference/sweep-file.md",
}
# Written by the commands themselves (tests/tools/test_cli_reference.py).
GENERATED = "reference/cli.md"
TEXT = "\n".join(
    [README, CONTRIBUTING, *(DOCS[name] for name in DOCS.keys() - ELSEWHERE - {GENERATED})]
)
FENCED = re.compile(r"^ *```[^\n]*\n(.*?)^ *```$", re.M | re.S)
TOOLS = sorted(path.stem for path in (ROOT / "tools").glob("[!_]*.py"))


def exit_codes(text: str) -> dict[int, str]:
    return {
        int(code): what.strip() for code, what in re.findall(r"^\| (\d+) \| (.+) \|$", text, re.M)
    }


def test_exit_codes_are_the_codes_own_table():
    documented, written = exit_codes(DOCS["reference/exit-codes.md"]), exit_codes(errors.__doc__)
    assert set(documented) == set(written)
    raised = {
        error.exit_code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.KernelkitError)
    }
    assert raised <= set(written)


def texts(module: Path) -> set[str]:
    """The texts of a module, an ellipsis for each value that is put into one."""
    joined = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            joined.add("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            joined.add(node.value)
    return joined


def test_every_message_of_the_troubleshooting_is_one_that_the_kit_prints():
    rows = re.findall(r"^\| `(.+?)` \(\d+\) \|", DOCS["how-to/troubleshooting.md"], re.M)
    assert len(rows) > 10
    printed = set().union(*(texts(path) for path in ROOT.glob("src/kernelkit/**/*.py")))
    parts = {part.strip() for row in rows for part in row.split("…")}
    assert [part for part in sorted(parts) if not any(part in text for text in printed)] == []


def test_every_file_it_names_is_there():
    named = set(re.findall(r"`((?:src|tools|tests|notebooks|docs)/[\w./-]+)`", TEXT))
    named |= set(re.findall(r"(?<![\w/])((?:src|tools|tests|notebooks|docs)/[\w./-]+\.\w+)", TEXT))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_path_of_the_makefile_is_there():
    named = re.findall(
        r"(?<![\w./-])((?:src|tools|tests|notebooks)/[\w./-]+)", (ROOT / "Makefile").read_text()
    )
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_its_pictures_are_there_small_and_drawn_by_a_target():
    from xml.etree import ElementTree

    shown = set(re.findall(r"!\[[^\]]{30,}\]\(([^)]+)\)", README))
    drawn = {"docs/terminal.svg", "docs/report.png", "docs/sweep.png"}
    assert shown == drawn | {"docs/flowers.jpg"}
    assert all(1_000 < (ROOT / name).stat().st_size < 200_000 for name in drawn)
    target = re.search(r"^pictures: .*\n\t(.+)$", (ROOT / "Makefile").read_text(), re.M)
    assert target and "tools/pictures.py -- $(RUN)" in target[1]
    code = (ROOT / "tools/picturing/readme.py").read_text()
    assert [name for name in drawn if f'into / "{Path(name).name}"' not in code] == []

    terminal = ElementTree.fromstring((ROOT / "docs/terminal.svg").read_text())
    told = " ".join(" ".join(terminal.itertext()).split())
    assert "@font-face" not in told and "https:" not in told  # no font is asked of a network
    assert "macro" in told and "report.html" in told
    assert not re.search(r"/home/|/root/|/Users/|/work/|/tmp/", told)


def test_the_readme_is_read_in_four_minutes():
    assert len(README.split()) <= 900


def test_every_tool_is_mentioned():
    assert len(TOOLS) > 5
    assert [tool for tool in TOOLS if f"tools/{tool}.py" not in TEXT] == []


def test_every_parameter_it_uses_exists():
    from kernelkit.notebooks import document, parameters

    trained = [document.read(ROOT / "notebooks" / name) for name in ("00_first.py", "02_train.py")]
    known = {
        name
        for notebook in trained
        for name in parameters.declared(document.parameters_cell(notebook).source)
    }
    makefile = (ROOT / "Makefile").read_text()
    used = set(re.findall(r"-p (\w+)=", TEXT + makefile)) - {"backbon", "NAME", "name"}
    assert len(used) > 4
    assert used <= known


def test_the_page_of_backbones_lists_the_registry():
    from kernelkit.notebooks.parameters import declared
    from kernelkit.project import find_project

    table = DOCS["reference/backbones.md"].split("|---|---|")[1].split("\n\n")[0]
    listed = [
        name
        for row in table.strip().splitlines()
        for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]
    cell = 'backbone = "none"  # in petals.models.backbones.BACKBONES: what looks at the photos'
    registry = declared(cell, find_project(ROOT))["backbone"].members

    assert sorted(listed) == sorted(registry)


def test_the_page_of_machines_lists_what_kaggle_takes():
    from kernelkit.machines import MACHINES

    assert [
        m.shape for m in MACHINES if not m.common and m.shape not in DOCS["reference/machines.md"]
    ] == []


def test_the_page_of_machines_has_the_limits_of_the_kit():
    from kernelkit.machines import LIMITS

    row = r"^\| `(\w+)` \|[^|]+\| (\d+) \| (\d+) \| (\d+|no limit) \|"
    page = {kind: rest for kind, *rest in re.findall(row, DOCS["reference/machines.md"], re.M)}
    assert page == {
        kind: [f"{n:g}" if n else "no limit" for n in vars(limits).values()]
        for kind, limits in LIMITS.items()
    }


def test_the_page_of_checks_lists_them_and_those_that_cannot_be_ignored():
    from kernelkit.checks.preflight import CHECKS, FINAL

    pages = DOCS["reference/checks.md"].split("cannot be ignored")
    optional, final = (re.findall(r"^\| `([\w-]+)` \|", page, re.M) for page in pages)
    assert optional == [name for name in CHECKS if name not in FINAL]
    assert final == list(FINAL)


def test_the_page_of_the_sweep_file_has_every_key():
    from kernelkit.sweep.specification import KEYS

    page = re.findall(r"^\| (`.+?`) \|", DOCS["reference/sweep-file.md"], re.M)
    assert sorted(KEYS) == sorted(re.findall(r"`(\w+)`", " ".join(page)))


def test_the_page_of_settings_is_read_as_settings(tmp_path):
    from kernelkit.project import Project, TpuSettings, find_project
    from kernelkit.shown import Shown

    example = re.search(r"^```toml\n(.*?)^```$", DOCS["reference/settings.md"], re.M | re.S)[1]
    (tmp_path / "pyproject.toml").write_text(example)
    read = find_project(tmp_path)  # refuses a key that it does not know
    left_out = {
        field.name
        for settings, empty in (
            (read, Project(tmp_path)),
            (read.tpu, TpuSettings()),
            (read.shown, Shown()),
        )
        for field in fields(empty)
        if getattr(settings, field.name) == getattr(empty, field.name)
    }
    assert left_out == {"root", "version", "title", "beside", "before_push"}


def test_every_make_target_it_names_exists():
    named = {t for code in code_of(TEXT) for t in re.findall(r"\bmake ([a-z][a-z-]*)", code)}
    assert named >= {"run", "test", "test-long", "test-parity"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert named - targets == set()


def code_of(text: str) -> list[str]:
    """What is set as code, blocks and spans, with continued lines joined."""
    blocks = FENCED.findall(text)
    spans = re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
    return [code.replace("\\\n", " ") for code in (*blocks, *spans)]


def options_by_tool(text: str) -> dict[str, set[str]]:
    """The options that each tool is called with."""
    shown: dict[str, set[str]] = {}
    for tool, rest in re.findall(r"tools/(\w+)\.py([^\n]*)", "\n".join(code_of(text))):
        shown.setdefault(tool, set()).update(re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", rest))
    return shown


def options(command: click.Command) -> set[str]:
    """All options of a command and of those below it."""
    own = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union({"--help"}, *map(options, below))


@pytest.fixture(scope="module")
def known():
    """The options of each tool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        mains = {tool: runpy.run_path(str(ROOT / f"tools/{tool}.py"))["main"] for tool in TOOLS}
    context = click.Context(console.main)
    for name in console.COMMANDS:
        mains[f"kernelkit {name}"] = console.main.get_command(context, name)
    taken = {tool: options(main) for tool, main in mains.items()}
    taken["kernelkit local"] |= options(local_kaggle)  # which it passes on
    return taken


def test_options_it_calls_a_tool_with_exist(known):
    shown = options_by_tool(TEXT)
    assert {tool for tool in shown if shown[tool]} >= {
        "make_tfrecords",
        "push_kernel",
        "report",
        "run_notebook",
        "sweep",
    }
    wrong = {tool: left for tool in shown if (left := shown[tool] - known[tool])}
    assert wrong == {}


def test_options_it_calls_kernelkit_with_exist(known):
    lines = "\n".join(code_of("\n".join([TEXT, *(DOCS[name] for name in sorted(ELSEWHERE))])))
    called = re.findall(r"(?<![\w./-])kernelkit ([a-z]+)([^\n#]*)", lines)
    assert {name for name, _ in called} >= {"init", "rehearse", "push", "fetch", "queue", "local"}
    wrong = [
        (name, option)
        for name, rest in called
        for option in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", rest)
        if option not in known.get(f"kernelkit {name}", set())
    ]
    assert wrong == []


def test_options_it_names_by_themselves_exist(known):
    named = {code.split()[0] for code in code_of(TEXT) if code.startswith("--")}
    assert {"--local", "--continue", "--dask"} <= named
    assert named - set.union(*known.values()) == set()
