"""The outcomes of the clients' tests as a page of the docs."""

import re
from collections import Counter

from suites.running import Suite

HEAD = """# The clients' own tests

The tests of kaggle-cli and kagglehub, run as they are against the local Kaggle with a catalogue of
what they expect to find. `make conformance` fetches the sources of the newest releases on the
package index and writes this page; `KAGGLE_CLI=PATH` and `KAGGLEHUB=PATH` name checkouts to take
instead. A call of kaggle-cli's command script has passed if it ended with 0 and printed what it
should.

What does not pass may be the client's own doing: it refuses `--size`, and the words after `pages`,
before it asks anybody. The page token `abcd` is one that no server gave out; the local Kaggle
answers 400. One package of kagglehub's tests installs a distribution from the internet, and is not
in the catalogue. kagglehub's unit tests run against stubs of its own; here the local Kaggle takes
the place of those that stand for the API. What the tests then read from a stub (the files and the
user agent that it got) is missing, and so are the folders that the stub makes up for one dataset
which other tests expect to have one file.
"""
COLUMNS = "| family | passed | of |\n|---|---|---|\n"
LONGEST = 140  # characters of a message
NOT_METHODS = ("Download", "Upload")  # files behind links


def table(suites: dict[str, Suite], calls: Counter[str], versions: list[str]) -> str:
    """A table for each suite: what passed by family, and what did not, by its message."""
    parts = [HEAD, f"\nThis page is of {' and '.join(versions)}.\n"]
    for name, suite in suites.items():
        total = sum(len(outcomes) for outcomes in suite.values())
        passed = sum(_passed(outcomes) for outcomes in suite.values())
        parts.append(f"\n## {name}: {passed} of {total}\n\n{COLUMNS}")
        parts += [f"| {key} | {_passed(all_)} | {len(all_)} |\n" for key, all_ in suite.items()]
        others: dict[str, list[str]] = {}
        for outcomes in suite.values():
            for test, outcome in outcomes.items():
                if outcome != "passed":
                    others.setdefault(_line(outcome), []).append(f"`{test}`")
        parts += ["\nNot passed:\n\n"] if others else []
        parts += [f"- {', '.join(tests)}: {line}\n" for line, tests in others.items()]
    methods = sorted(set(calls).difference(NOT_METHODS))
    parts.append("\n## The methods that they call\n\n")
    parts += [f"`{method}`\n" for method in methods]
    return "".join(parts)


def _passed(outcomes: dict[str, str]) -> int:
    return list(outcomes.values()).count("passed")


def _line(outcome: str) -> str:
    """The message of an outcome in one line, without folders of the machine that it ran on."""
    text = re.sub(r"(/[\w.-]+){3,}", "…", " ".join(outcome.split()))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
