"""A kernel's guesses stand under one heading, and a check that warned says how often."""

import io
import json
from dataclasses import replace

import click
import pytest

from kernelkit.cli.console import COMMANDS, main
from kernelkit.errors import PreflightError
from kernelkit.push.checks.findings import (
    MINOR,
    POSSIBLE,
    PROBABLE,
    conclusion,
    error,
    guess,
    show,
    warning,
)
from kernelkit.terminal.events import Events

GUESSES = [guess("a little", MINOR), guess("a lot", PROBABLE), guess("something", POSSIBLE)]


def told(*findings, as_json=False):
    """What is printed of findings, as lines, and how the check ends."""
    stream = io.StringIO()
    events = Events(stream, as_json=as_json)
    show(events, findings)
    return stream.getvalue().splitlines(), conclusion(events)


def test_guesses_are_a_list_below_one_heading_with_the_most_useful_first():
    lines, end = told(*GUESSES)
    assert lines == [
        "warnings  3 guesses, the most useful first:",
        "          - a lot",
        "          - something",
        "          - a little",
    ]
    assert end == "no error, 3 warnings"


def test_one_guess_is_one_and_none_is_nothing():
    lines, end = told(GUESSES[0])
    assert lines == ["warnings  1 guess:", "          - a little"]
    assert end == "no error, 1 warning"
    assert told() == ([], "nothing to correct before a push")


def test_a_fact_that_stops_nothing_stands_by_itself_and_counts():
    lines, end = told(GUESSES[0], warning("ignored on request"))
    assert lines[0] == "warning   ignored on request"
    assert end == "no error, 2 warnings"


def test_for_programs_each_guess_is_a_warning_with_its_rank():
    lines, _ = told(*GUESSES, as_json=True)
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["warning"] * 3
    assert [event["rank"] for event in events] == [PROBABLE, POSSIBLE, MINOR]


def test_for_programs_each_fact_has_the_name_of_its_check():
    (line,), _ = told(replace(warning("ignored on request"), check="keys"), as_json=True)
    assert json.loads(line)["check"] == "keys"


def test_an_error_ends_the_telling():
    with pytest.raises(PreflightError, match="certain"):
        told(error("certain"), *GUESSES)


def test_the_way_past_an_error_names_the_commands_that_have_it():
    with pytest.raises(PreflightError) as refused:
        told(replace(error("wrong"), check="keys"))
    advice = str(refused.value).splitlines()[-1]
    assert advice == "To push anyway: --ignore keys, an option of push, check and rehearse"

    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in COMMANDS}
    have_it = {name for name, each in commands.items() if "ignore" in {p.name for p in each.params}}
    assert have_it == {"push", "check", "rehearse"}
