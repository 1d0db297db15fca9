"""The installed command: quick to answer, the same options everywhere, errors as events."""

import json
import re
import runpy
import shlex
import subprocess
import sys

import click
import pytest
from checkouts import ROOT
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.console import COMMANDS, main
from kernelkit.push.known.ledger import Ledger, Push

HEAVY = ("kaggle", "nbformat", "papermill", "requests", "starlette", "yaml")


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def commands():
    """Every command by the words that are typed for it, those of groups too."""
    context = click.Context(main)
    found = {}
    for name in COMMANDS:
        command = main.get_command(context, name)
        if isinstance(command, click.Group):
            found |= {f"{name} {sub}": command.commands[sub] for sub in command.commands}
        else:
            found[name] = command
    return found


def test_help_lists_the_commands_and_imports_nothing_heavy():
    code = (
        f"import sys; sys.argv = ['kernelkit', '--help']\n"
        f"from kernelkit.cli.console import main\n"
        f"try: main()\nfinally: print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    first = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert [word for word in first if word in COMMANDS] == list(COMMANDS)
    assert "_KERNELKIT_COMPLETE=bash_source" in shown
    told = re.search(r"Exit codes: (.*?interrupted)", " ".join(shown.split()))[1]
    codes = re.findall(r"^\| (\d+) \|", errors.__doc__, re.M)
    assert re.findall(r"(?:^|, )(\d+) ", told) == codes
    assert shown.endswith("\n[]\n")


def test_a_command_that_is_called_without_its_group_has_the_same_help():
    command = main.get_command(click.Context(main), "check")
    assert CliRunner().invoke(command, ["-h"]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "near"), [("push --dry-rum", "--dry-run"), ("psuh", "push"), ("uplod", "upload")]
)
def test_a_mistyped_word_is_refused_with_the_nearest_one(words, near):
    shown = run(*words.split())
    assert shown.exit_code == 2
    assert shown.output.splitlines()[-1].endswith(f"Did you mean '{near}'?")


@pytest.mark.parametrize("columns", [60, 100])
def test_help_is_wrapped_between_words_and_cuts_no_sentence(columns):
    width = {"terminal_width": columns, "max_content_width": columns}
    for name, command in {"": main, **commands()}.items():
        words = set(CliRunner().invoke(main, [*name.split(), "--help"], **width).output.split())
        shortened = {word for word in words if word.endswith("...")}
        assert shortened <= {"[ARGS]...", "NUMBER...", "PATH..."}
        for part in (command, *command.params):
            text = getattr(part, "help", None) or ""
            assert set(text.replace("\b", "").split()) <= words, (name, text)


@pytest.mark.parametrize("name", commands())
def test_the_help_of_every_command_says_all(name, tmp_path, monkeypatch):
    (tmp_path / "weights").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(main, [*name.split(), "--help"], color=True)
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output  # whatever NO_COLOR says
    command = commands()[name]
    assert command.help.strip().splitlines()[0].endswith(".")
    options = [option for option in command.params if isinstance(option, click.Option)]
    words = {word for option in options for word in option.opts}
    assert {"--json", "--quiet"} <= words
    assert all(word.startswith("--") or len(word) == 2 for word in words)
    assert [option.name for option in options if not (option.help or option.hidden)] == []
    assert "Exit codes" not in shown.output  # they stand once, on a page
    examples = shown.output.split("\n  Examples:\n")[1].strip().splitlines()
    assert len(examples) == 2
    for example in map(str.strip, examples):
        assert len(example) < 70 and example.startswith(f"kernelkit {name}")
        command.make_context(name, shlex.split(example)[1 + len(name.split()) :])


def test_the_help_of_push_is_read_on_one_screen():
    shown = CliRunner().invoke(main, ["push", "-h"], terminal_width=80).output
    assert len(shown.splitlines()) <= 40


def test_an_option_means_the_same_in_every_command():
    kinds = {}
    for command in commands().values():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                kind = (parameter.is_flag, parameter.multiple, parameter.type.name)
                kinds.setdefault(max(parameter.opts, key=len), set()).add(kind)
    # A push attaches models by their names, an upload says that its folder is one.
    assert kinds.pop("--model") == {(False, True, "text"), (True, False, "boolean")}
    assert {name: kind for name, kind in kinds.items() if len(kind) > 1} == {}


def test_the_tool_that_pushes_takes_the_options_of_the_command_and_those_of_resume(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools/push_kernel.py"))["main"]
    push = commands()["push"]
    assert [option.name for option in tool.params] == [o.name for o in push.params] + ["earlier"]
    assert tool.help == push.help


def test_with_json_a_report_is_an_event_on_stdout_and_so_is_an_error(tmp_path):
    arguments = ("report", tmp_path, "--index")
    done = run(*arguments, "--json")
    assert (done.exit_code, done.stderr) == (2, "")
    event = json.loads(done.stdout)
    assert (event["event"], event["exit_code"]) == ("error", 2)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.json").write_text('{"f1": 0.5}')
    event = json.loads(run(*arguments, "--json").stdout)
    assert (event["event"], event["path"]) == ("report", str(tmp_path / "index.html"))
    assert run(*arguments, "--quiet").stdout.startswith("report ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", ["rehearse", "resume", "report"]),
        ("upload --hel", ["--help"]),
        ("push --accelerator t", ["tpu"]),
        ("push --accelerator Tpu", ["TpuV5E8", "TpuV6E8"]),
        ("push --ignore iden", ["identity"]),
        ("push -p f", ["files=", "fail="]),
        ("run notebooks/train.ipynb -p acc", ["accelerator="]),
        ("resume la", ["last"]),
        ("resume t", ["tester/blossom-train/2", "tester/blossom-train/1"]),
        ("resume x", []),
    ],
)
def test_a_shell_completes_names_and_values(repository, typed, offered):
    ledger = Ledger(repository.runs)
    for version in (1, 2):
        push = Push("tester/blossom-train", "content", "git", "tpu", version=version)
        ledger.update(ledger.begin(push), version=version)
    assert completed(typed) == offered


def test_completion_says_nothing_where_there_is_no_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert completed("push -p f") == []


def completed(typed):
    words = typed.split(" ")
    environment = {
        "_KERNELKIT_COMPLETE": "bash_complete",
        "COMP_WORDS": f"kernelkit {typed}",
        "COMP_CWORD": str(len(words)),
    }
    answer = CliRunner().invoke(main, prog_name="kernelkit", env=environment)
    return [line.partition(",")[2] for line in answer.output.split()]


@pytest.mark.parametrize("words", [(), ("run",), ("sweep",), ("resume",)])
def test_the_short_option_for_help(words):
    short, long = (CliRunner().invoke(main, [*words, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)
    assert "-h, --help" in short.output
