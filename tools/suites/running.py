"""Run the clients' own tests, as they are, against a local Kaggle."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from local_kaggle import LocalKaggle, ServerLimits
from suites import catalogue, expected, stubbed

SECONDS = 1800
LATE = f"it did not end in {SECONDS} seconds"
UNIT_PORT = 7777  # that of the SDK's environment TEST
SHIM = """#!{python}
import json, subprocess, sys
done = subprocess.run([sys.executable, "-m", "kaggle.cli", *sys.argv[1:]], capture_output=True,
                      text=True, input="no\\n" * 3)
sys.stdout.write(done.stdout)
sys.stderr.write(done.stderr)
with open({calls!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], done.returncode, done.stdout + done.stderr]) + "\\n")
sys.exit(done.returncode)
"""


class NotCollectedError(Exception):
    """A client's tests that cannot run here, and why."""


Suite = dict[str, dict[str, str]]
"""By family and test: "passed", or what went wrong."""


def run_suites(
    folder: Path,
    kaggle_cli: Path | None,
    kagglehub: Path | None,
    python: Path | None,
    *,
    sdk: Path | None = None,
) -> tuple[dict[str, Suite], Counter[str]]:
    """The outcomes by suite and family, and how often each method of the API was called.

    `folder` is for what the tests write; the checkouts are copied there and stay as they are.
    kagglehub's unit tests run in `python`, which has what they need (flask, pandas, polars …).
    `sdk` is a folder with the SDK that the clients ask for, in place of this environment's. Raises
    NotCollectedError where pytest finds no tests, or some that it cannot import.
    """
    suites: dict[str, Suite] = {}
    limits = ServerLimits(score_seconds=0, rules_pending=catalogue.RULES_PENDING)
    accounts = {catalogue.ACCOUNT: "", catalogue.DEVELOPER: ""}
    server = LocalKaggle(folder / "kaggle", limits=limits, accounts=accounts)
    catalogue.fill(server.catalogue)
    with server:
        if kaggle_cli:
            checkout = _copy(kaggle_cli, folder / "kaggle-cli")
            own = server.client_environment(user=catalogue.DEVELOPER)
            own |= {
                "KAGGLE_DEVELOPER": catalogue.DEVELOPER,
                "PYTHONPATH": _paths(checkout / "src", sdk),
            }
            backend = checkout / "tests" / "backend"
            shutil.copy(
                backend / "sample_submission.csv",
                server.catalogue / "solutions" / f"{catalogue.HOUSES}.csv",
            )
            for name in ("kernel", "dataset"):  # which the command script takes for granted
                shutil.copytree(backend / name, checkout / "tests" / name)
            _own_dataset(folder / "own", own)
            suites["kaggle-cli: backend tests"] = _pytest(
                checkout / "tests" / "backend", ["backend_tests.py"], own
            )
            suites["kaggle-cli: integration tests"] = _pytest(checkout, ["tests/integration"], own)
            suites["kaggle-cli: command script"] = _script(checkout, own)
        if kagglehub:
            checkout = _copy(kagglehub, folder / "kagglehub")
            own = server.client_environment(user=catalogue.ACCOUNT)
            own["PYTHONPATH"] = _paths(checkout / "src", sdk)
            suites["kagglehub: integration tests"] = _pytest(checkout, ["integration_tests"], own)
            if python:
                suites["kagglehub: unit tests without their stubs"] = _unit_tests(
                    checkout, folder / "unit", python
                )
    return suites, server.faults.calls


def _unit_tests(checkout: Path, folder: Path, python: Path) -> Suite:
    keys = {account: stubbed.KEYS.get(account, "") for account in stubbed.ACCOUNTS.values()}
    keys.pop("")
    limits = ServerLimits(dataset_seconds=0)
    server = LocalKaggle(
        folder, port=UNIT_PORT, limits=limits, accounts=keys, tokens=stubbed.TOKENS
    )
    stubbed.fill(server.catalogue, checkout / "tests" / "data")
    paths = [checkout / "src", checkout, Path(__file__).parents[1]]
    environment = {"HOME": str(folder), "PYTHONPATH": os.pathsep.join(map(str, paths))}
    suite: Suite = {}
    with server:
        for name, account in stubbed.ACCOUNTS.items():
            own = {"KAGGLE_USERNAME": account, "KAGGLE_KEY": server.key(account)} if account else {}
            arguments = ["-p", "suites.stubless", f"tests/{name}"]
            suite |= _pytest(checkout, arguments, environment | own, str(python.absolute()))
    return suite


def _paths(*folders: Path | None) -> str:
    return os.pathsep.join(str(folder) for folder in folders if folder)


def _copy(checkout: Path, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(checkout, place, ignore=shutil.ignore_patterns(".git"))
    return place


def _own_dataset(folder: Path, environment: Mapping[str, str]) -> None:
    """One dataset of the account's own: the tests change the metadata of the first of a list."""
    folder.mkdir()
    (folder / "a.csv").write_text("a\n1\n")
    reference = f"{catalogue.DEVELOPER}/own-dataset"
    metadata = {"id": reference, "title": "Own dataset", "licenses": [{"name": "CC0-1.0"}]}
    (folder / "dataset-metadata.json").write_text(json.dumps(metadata))
    create = ["datasets", "create", "--public", "-p", str(folder)]
    subprocess.run([sys.executable, "-m", "kaggle.cli", *create], env=environment, check=True)


def _pytest(
    folder: Path, paths: list[str], environment: Mapping[str, str], python: str = sys.executable
) -> Suite:
    report, settings = folder / "outcomes.xml", folder / "empty.ini"  # in place of their own
    settings.write_text("[pytest]\n")
    options = ["-q", "--show-capture=no", "-p", "no:cacheprovider", "--rootdir=.", f"-c{settings}"]
    command = [python, "-m", "pytest", *options, f"--junitxml={report}", *paths]
    suite: Suite = {}
    report.unlink(missing_ok=True)
    if not _has_ended(command, folder, environment):
        return {"all": {" ".join(paths): LATE}}
    _check_collected(report, paths[-1], python)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        wrong = [child for child in case if child.tag in ("failure", "error", "skipped")]
        outcome = f"{wrong[0].tag}: {wrong[0].get('message', '')}" if wrong else "passed"
        words = str(case.get("name")).removeprefix("test_").split("_")
        module = str(case.get("classname")).split(".")[-2]
        family = words[0] if module == "backend_tests" else module.removeprefix("test_")
        suite.setdefault(family, {})[str(case.get("name"))] = outcome
    return suite


def _check_collected(report: Path, what: str, python: str) -> None:
    """Raise NotCollectedError for tests that pytest did not find or could not import."""
    if not report.is_file():
        raise NotCollectedError(f"{what}: pytest did not start in {python}: install it there")
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - pytest wrote it
    if not cases:
        raise NotCollectedError(f"{what}: pytest finds no tests: is this a checkout of the client?")
    for case in cases:
        error = case.find("error")
        if not case.get("classname") and error is not None:
            said = re.findall(r"(?m)^E +(\S.*)$", error.text or "")
            reason = said[-1] if said else error.get("message")
            raise NotCollectedError(
                f"{what}: pytest cannot import {case.get('name')}: {reason}. Install what the "
                f"client's tests need into the environment of {python}"
            )


def _script(checkout: Path, environment: Mapping[str, str]) -> Suite:
    """Every call of the command script is an outcome; each calls the client in between."""
    calls, shims = checkout / "calls.jsonl", checkout / "shims"
    shims.mkdir()
    calls.touch()
    (shims / "kaggle").write_text(SHIM.format(python=sys.executable, calls=str(calls)))
    (shims / "kaggle").chmod(0o755)
    path = f"{shims}:{os.environ['PATH']}"
    command = ["/bin/bash", "tests/test_commands.sh"]
    has_ended = _has_ended(command, checkout, {**environment, "PATH": path})
    suite: Suite = {}
    short = {"c": "competitions", "k": "kernels", "d": "datasets", "m": "models"}
    for number, line in enumerate(calls.read_text().splitlines()):
        words, code, output = json.loads(line)
        family = suite.setdefault(short.get(words[0], words[0]), {})
        family[f"{number} {' '.join(words)}"] = expected.outcome(words, code, output)
    if not has_ended:
        suite["all"] = {"the calls that follow": LATE}
    return suite


def _has_ended(command: list[str], folder: Path, environment: Mapping[str, str]) -> bool:
    """Run a suite; whether it ended in its time, however it ended."""
    try:
        subprocess.run(command, cwd=folder, env=environment, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return True
