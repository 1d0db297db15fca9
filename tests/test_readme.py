"""The facts of README, docs and notebooks that code can check."""

import ast
import re
import runpy
from dataclasses import fields

import click
from checkouts import ROOT

from kernelkit import errors, machines, typed
from kernelkit.cli import console
from kernelkit.notebook import document
from kernelkit.notebook.interface.parameters import declared, of_notebook
from kernelkit.project import Project, TpuSettings, find_project
from kernelkit.push.checks.findings import FINAL
from kernelkit.push.checks.preflight import CHECKS
from kernelkit.shown import Shown
from kernelkit.sweep.planning.sweep_file import SweepFile
from local_kaggle.command import command as local_kaggle

README, MAKEFILE = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
DOCS = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text()
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
NOTEBOOKS = [document.read(path) for path in sorted(ROOT.glob("notebooks/*.py"))]
PROSE = [
    re.sub("`[^`]+`", lambda code: code[0].replace("\n", " "), cell.source)
    for book in NOTEBOOKS
    for cell in book.cells
    if cell.cell_type == "markdown"
]
# About other repositories, whose files and parameters are not here.
ELSEWHERE = {
    "how-to/tabular.md",
    "tutorials/another-repository.md",
    "reference/settings.md",
    "reference/sweep-file.md",
}
# Written by the commands themselves (tests/tools/test_cli_reference.py).
GENERATED = "reference/cli.md"
OWN = [DOCS[name] for name in DOCS.keys() - ELSEWHERE - {GENERATED}]
TEXT = "\n".join([README, (ROOT / "CONTRIBUTING.md").read_text(), *OWN, *PROSE])
FENCED = re.compile(r"^ *```[^\n]*\n(.*?)^ *```$", re.M | re.S)
CALL = re.compile(r"(?:tools/(\w+)\.py|(?<![\w./-])(kernelkit [a-z]+|local-kaggle))([^\n#]*)")
TOOLS = sorted(path.stem for path in (ROOT / "tools").glob("[!_]*.py"))


def code_of(text):
    """What is set as code, blocks and spans, with continued lines joined."""
    blocks = FENCED.findall(text)
    spans = re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
    return [code.replace("\\\n", " ") for code in (*blocks, *spans)]


def test_exit_codes_are_the_codes_own_table():
    documented, written = (
        set(re.findall(r"^\| (\d+) \|", text, re.M))
        for text in (DOCS["reference/exit-codes.md"], errors.__doc__)
    )
    assert documented == written
    raised = {str(getattr(error, "exit_code", 0)) for error in vars(errors).values()}
    assert raised - {"0"} <= written


def test_every_message_of_the_troubleshooting_is_one_that_the_kit_prints():
    rows = re.findall(r"^\| `(.+?)` \(\d+\) \|", DOCS["how-to/troubleshooting.md"], re.M)
    assert len(rows) > 10
    printed = [
        node.value
        for path in ROOT.glob("src/kernelkit/**/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    parts = {part.strip() for row in rows for part in row.split("…")}
    assert [part for part in sorted(parts) if not any(part in text for text in printed)] == []


def test_every_file_it_names_is_there():
    named = set(re.findall(r"`((?:src|tools|tests|notebooks|docs)/[\w./-]+)`", TEXT))
    named |= set(re.findall(r"(?<![\w/])((?:src|tools|tests|notebooks|docs)/[\w./-]+\.\w+)", TEXT))
    named |= set(re.findall(r"(?<![\w./-])((?:src|tools|tests|notebooks)/[\w./-]+)", MAKEFILE))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_its_pictures_are_there_small_and_drawn_by_a_target():
    shown = set(re.findall(r"!\[[^\]]{30,}\]\(([^)]+)\)", README))
    assert shown == {"docs/demo.gif"}
    drawn = {"docs/demo.gif": 1_500_000, "docs/report.png": 200_000, "docs/sweep.png": 200_000}
    assert all(1_000 < (ROOT / name).stat().st_size < most for name, most in drawn.items())


def test_every_parameter_it_uses_exists():
    known = {name for book in NOTEBOOKS for name in of_notebook(book)}
    used = set(re.findall(r"(?:-p |`)([a-z]\w*)=", TEXT + MAKEFILE))
    assert len(used) > 9
    # Of the notebook in examples/harvest, and of a reader's own.
    of_others = {"degree", "device"}
    assert used - known - of_others == {"backbon", "name", "training"}


def test_the_page_of_backbones_lists_the_registry():
    rows = [line for line in DOCS["reference/backbones.md"].splitlines() if line.startswith("| `")]
    names = " ".join(row.split("|")[1] for row in rows)
    cell = 'backbone = "SmallNet"  # in petals.registry.BACKBONES: what looks at the photos'
    registry = declared(cell, find_project(ROOT))["backbone"].members
    assert sorted(re.findall(r"`([^`]+)`", names)) == sorted(registry)


def test_the_page_of_machines_has_what_kaggle_takes_and_the_limits_of_the_kit():
    page = DOCS["reference/machines.md"]
    assert all(m.common or m.shape in page for m in machines.MACHINES)
    row = r"^\| `(\w+)` \|[^|]+\| (\d+) \| (\d+) \| (\d+|no limit) \|"
    assert {kind: figures for kind, *figures in re.findall(row, page, re.M)} == {
        kind: [f"{n:g}" if n else "no limit" for n in vars(limits).values()]
        for kind, limits in machines.LIMITS.items()
    }


def test_the_page_of_checks_lists_them_and_those_that_cannot_be_ignored():
    pages = DOCS["reference/checks.md"].split("cannot be ignored")
    optional, final = (re.findall(r"^\| `([\w-]+)` \|", page, re.M) for page in pages)
    assert optional == [name for name in CHECKS if name not in FINAL]
    assert final == list(FINAL)


def test_the_page_of_the_sweep_file_has_every_key():
    page = re.findall(r"^\| (`.+?`) \|", DOCS["reference/sweep-file.md"], re.M)
    assert sorted(typed.keys(SweepFile)) == sorted(re.findall(r"`(\w+)`", " ".join(page)))


def test_the_page_of_settings_is_read_as_settings(tmp_path):
    example = re.search(r"^```toml\n(.*?)^```$", DOCS["reference/settings.md"], re.M | re.S)[1]
    (tmp_path / "pyproject.toml").write_text(example)
    read = find_project(tmp_path)  # refuses a key that it does not know
    pairs = (read, Project(tmp_path)), (read.tpu, TpuSettings()), (read.shown, Shown())
    left_out = {
        field.name
        for settings, empty in pairs
        for field in fields(empty)
        if getattr(settings, field.name) == getattr(empty, field.name)
    }
    assert left_out == {"root", "version", "title", "swept_notebook", "before_push"}


def test_every_make_target_it_names_exists():
    named = {t for code in code_of(TEXT) for t in re.findall(r"\bmake ([a-z][a-z-]*)", code)}
    assert named >= {"run", "test", "test-long", "test-parity"}
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))


def options(command):
    """All options of a command and of those below it."""
    own = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union({"--help"}, *map(options, below))


def test_every_option_it_names_exists_where_it_is_given(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    commands = {tool: runpy.run_path(str(ROOT / f"tools/{tool}.py"))["main"] for tool in TOOLS}
    context = click.Context(console.main)
    for name in console.COMMANDS:
        commands[f"kernelkit {name}"] = console.main.get_command(context, name)
    known = {name: options(command) for name, command in commands.items()}
    known["local-kaggle"] = options(local_kaggle)

    code = code_of("\n".join([TEXT, *(DOCS[name] for name in ELSEWHERE)]))
    calls = [(tool or command, rest) for tool, command, rest in CALL.findall("\n".join(code))]
    called = {
        (name, option)
        for name, rest in calls
        for option in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", rest)
    }
    assert len({name for name, _ in called}) > 10
    assert {call for call in called if call[1] not in known.get(call[0], ())} == set()
    alone = {words.split()[0] for words in code_of(TEXT) if words.startswith("--")}
    assert alone >= {"--local", "--continue", "--dask"}
    assert alone - set.union(*known.values()) == set()
