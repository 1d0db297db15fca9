"""The tools of an assistant, called as the server calls them."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from kernelkit.assistant import calls
from kernelkit.assistant.budget import Budget
from kernelkit.assistant.server import SKILL, Tools
from kernelkit.commands import console
from kernelkit.errors import CapacityError, ParameterError
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


def budget(repository, **given):
    """The budget of a server that starts now."""
    return Budget(repository.runs / "assistant" / "budget.json", **given)


@pytest.fixture
def call(repository):
    """`call("check")`: what that tool answers, with a budget of one push, an hour and an entry."""
    tools = Tools(repository.root, budget(repository, hours=1, pushes=1, submissions=1))

    def call(name, *arguments, **options):
        return asyncio.run(getattr(tools, name)(*arguments, **options))

    return call


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("check", {"notebook": "/etc/passwd"}),
        ("rehearse", {"notebook": "../other/train.ipynb"}),
        ("push", {"notebook": "link/train.ipynb"}),
        ("push", {"parameters": ["link"]}),
        ("sweep", {"file": "../sweep.yaml"}),
        ("read_log", {"folder": "link"}),
        ("compare", {"folder": ".."}),
        ("wait", {"reference": "--output=/etc"}),
        ("submit", {"reference": "../../etc", "message": "mine"}),
    ],
)
def test_no_tool_reaches_outside_the_project(call, repository, tmp_path, tool, arguments):
    (tmp_path / "elsewhere").mkdir()
    (repository.root / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParameterError, match=r"outside the project|is not "):
        call(tool, **arguments)
    assert not (repository.runs / calls.FOLDER).exists()


def test_a_log_or_metrics_that_are_a_link_to_elsewhere_are_not_read(call, repository, tmp_path):
    (tmp_path / "secret.json").write_text('{"secret": 1}')
    run = repository.runs / "train-v1"
    (run / ".kernelkit").mkdir(parents=True)
    for name in ("metrics.json", ".kernelkit/log.json"):
        (run / name).symlink_to(tmp_path / "secret.json")
    for tool in ("read_log", "compare"):
        with pytest.raises(ParameterError, match="outside"):
            call(tool, "runs/train-v1")


def test_nothing_is_spent_without_a_budget_for_it(repository):
    tools = Tools(repository.root, budget(repository))
    with pytest.raises(CapacityError, match=r"0 hours left and this takes 0\.5.*--hours"):
        asyncio.run(tools.push(minutes=30))
    with pytest.raises(CapacityError, match="0 submissions left"):
        asyncio.run(tools.submit("mine"))


def test_a_server_that_starts_again_has_what_is_left_of_the_day(repository, monkeypatch):
    budget(repository, hours=2, pushes=3).spend(hours=0.5, pushes=1)
    again = budget(repository, hours=2, pushes=1)
    assert again.remaining() == {"hours": 1.5, "pushes": 0, "submissions": 0}
    with pytest.raises(CapacityError, match="0 pushes left"):
        again.spend(pushes=1)
    monkeypatch.setattr("kernelkit.assistant.budget._today", lambda: "9999-01-01")
    assert again.remaining()["pushes"] == 1


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"day": "2026-11-23", "hours": 1}',
        '{"day": "today", "hours": 0, "pushes": 0, "submissions": 0}',
        '{"day": "2026-11-23", "hours": NaN, "pushes": 0, "submissions": 0}',
        '{"day": "2026-11-23", "hours": 0, "pushes": -9, "submissions": 0}',
    ],
)
def test_nothing_is_spent_while_the_account_of_the_budget_is_damaged(call, repository, content):
    file = repository.runs / "assistant" / "budget.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    for name in ("push", "budget"):
        with pytest.raises(CapacityError, match=r"budget\.json .*cannot be read.* delete it"):
            call(name)
    assert file.read_text() == content


@pytest.mark.parametrize("minutes", [float("nan"), -600.0, float("inf")])
def test_no_odd_number_of_minutes_widens_the_budget(call, minutes):
    with pytest.raises(CapacityError, match="1 hours left"):
        call("push", minutes=minutes)
    assert call("budget") == {"hours": 1, "pushes": 1, "submissions": 1}


def test_a_push_that_was_refused_costs_nothing(call, monkeypatch):
    answer = call("push", minutes=30)
    assert answer.exit_code == 4
    assert "no Kaggle credentials" in answer.problems[0]
    assert call("budget") == {"hours": 1, "pushes": 1, "submissions": 1}


def test_a_check_names_what_to_correct_and_the_file_with_the_rest(call, repository):
    assert call("check").exit_code == 0
    repository.describe(machine_shape="Abacus")
    answer = call("check", parameters=["files=1"])
    assert answer.exit_code == 3
    assert "no machine shape is called 'Abacus'" in answer.problems[-1]
    assert answer.details.startswith("runs/assistant/check-")
    events = (repository.root / answer.details).read_text().splitlines()
    assert json.loads(events[-1])["exit_code"] == 3


def test_a_command_past_its_time_is_interrupted(call, repository, monkeypatch):
    waits = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('left')"
    (repository.root / "kernelkit.py").write_text(waits)
    monkeypatch.setattr(calls, "MODULE", "kernelkit")
    answer = call("rehearse", minutes=0.02)
    assert answer.exit_code == -1
    assert answer.problems == ["error: left"]


def test_compared_runs_are_ranked_by_the_score_and_those_without_come_last(call, repository):
    for number, score in enumerate((0.5, None, 0.75)):
        run = repository.runs / f"train-v{number}"
        run.mkdir(parents=True)
        (run / "metrics.json").write_text(json.dumps({"macro_f1": score, "seconds": 1}))
    rows = call("compare")
    assert [row["folder"] for row in rows] == ["runs/train-v2", "runs/train-v0", "runs/train-v1"]
    assert rows[2]["metrics"] == {"seconds": 1}


def test_a_rerun_projects_the_time_for_the_rows_of_the_real_test_set(call, monkeypatch):
    async def run(_root, words, _minutes):
        return words

    monkeypatch.setattr(calls, "run", run)
    assert call("rerun", rows=20_000) == ["rerun", "--rows=20000"]
    assert call("rerun") == ["rerun"]


def test_the_skill_is_printed_for_assistants():
    printed = CliRunner().invoke(console.main, ["mcp", "--skill"]).output
    assert printed == SKILL.read_text()
    named = [name for name in vars(Tools) if not name.startswith("_")]
    assert [name for name in named if f"`{name}`" not in printed] == []


@pytest.mark.long
def test_the_whole_loop_from_a_failing_cell_to_a_score(
    call, repository, tmp_path, monkeypatch, open_competition
):
    repository.describe(enable_tpu=False, machine_shape=None)
    failed = call("rehearse", parameters=["fail=True"])
    assert failed.exit_code == 6
    assert "ValueError: withered" in failed.untrusted
    assert "withered" not in str([failed.summary, failed.problems])

    rehearsed = call("rehearse", parameters=["files=1"])
    assert (rehearsed.exit_code, rehearsed.metrics) == (0, {"macro_f1": 0.75})
    limits = ServerLimits(lag_seconds=0, score_seconds=0)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, monkeypatch.context() as there:
        for name, value in server.client_environment().items():
            there.setenv(name, value)
        open_competition(server)
        repository.describe(competition_sources=["garden"])
        pushed = call("push", parameters=["files=1"], minutes=45)
        assert pushed.reference == "tester/blossom-train/1"
        waited = call("wait", pushed.reference)
        assert (waited.state, waited.metrics) == ("complete", {"macro_f1": 0.75})
        assert "working on cpu" in call("read_log", waited.folder)["untrusted"]
        assert call("submit", "first").score == "1.00000"
        with pytest.raises(CapacityError, match=r"0\.25 hours left"):
            call("push", minutes=45)
    assert call("budget") == {"hours": 0.25, "pushes": 0, "submissions": 0}
