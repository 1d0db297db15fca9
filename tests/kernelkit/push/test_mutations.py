"""Whole pushes where one field of one of Kaggle's answers has an odd value.

    make fuzz        every field of every answer of a push, each with every odd value
                     (FUZZ_MUTATIONS=all); a sample of them in `make test` and `make test-long`

Whatever the field says, the right files of the right version come home, or the command ends with a
typed error; nothing else is raised, and no wrong version stands in the ledger.
"""

import contextlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kernelkit.errors import KernelkitError
from kernelkit.kaggle.transport import time_limits
from kernelkit.push.known.ledger import Ledger
from kernelkit.session_records import proved
from local_kaggle.server import LocalKaggle

ALL = os.environ.get("FUZZ_MUTATIONS") == "all"
JOURNAL = os.environ.get("FUZZ_JOURNAL")
LONGEST = 60.0  # seconds of the wall for one push
ALL_SECONDS = 7200  # for a value in every field, which are some hundred pushes in one test
ODD = {
    "null": None,
    "empty": "",
    "long": "x" * 5000,
    "zero": 0,
    "negative": -1,
    "huge": 2**63,
    "fraction": 1.5,
    "true": True,
    "list": [{}],
    "object": {"a": [1]},
    "path": "../../\u001b[31m/etc",
}
FIELDS = [
    "GetKernel.blob.source",
    "GetKernel.metadata.currentVersionNumber",
    "GetKernel.metadata.machineShape",
    "GetKernel.metadata.ref",
    "GetKernelSessionStatus.status",
    "ListKernelSessionOutput.files",
    "ListKernelSessionOutput.files.0.fileName",
    "ListKernelSessionOutput.files.0.url",
    "ListKernelSessionOutput.log",
    "ListKernelSessionOutput.nextPageToken",
    "SaveKernel.ref",
    "SaveKernel.url",
    "SaveKernel.versionNumber",
]
"""Fields of a sample; `make fuzz` finds every field in the answers of a push that goes well."""


@pytest.fixture
def answers(monkeypatch):
    """The JSON of each answer passes through `answers.change(method, json)`."""
    send = time_limits.TimedAdapter.send

    def change(method, answer):
        return answer

    def changed(self, request, *arguments, **options):
        response = send(self, request, *arguments, **options)
        method = request.url.rpartition("/")[2]
        if not options.get("stream"):
            with contextlib.suppress(ValueError):
                answer = changed.change(method, response.json())
                response._content = json.dumps(answer).encode()
                response.headers["Content-Length"] = str(len(response._content))
        return response

    changed.change = change
    monkeypatch.setattr(time_limits.TimedAdapter, "send", changed)
    return changed


def paths(value, path=()):
    """Every place in a JSON value, by the keys that lead to it; of lists the first entry's."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else []
    items = enumerate(value[:1]) if isinstance(value, list) else items
    for key, inner in items:
        yield from paths(inner, (*path, key))


def set_value(answer, path, value):
    """Set the value at `path` of an answer, where it has such a place; returns the answer."""
    place = answer
    with contextlib.suppress(KeyError, IndexError, TypeError):
        for key in path[:-1]:
            place = place[key]
        place[path[-1]]
        place[path[-1]] = value
    return answer


def fields_of_a_push(repository, root, answers):
    seen = set()

    def note(method, answer):
        seen.update(f"{method}.{'.'.join(map(str, path))}" for path in paths(answer))
        return answer

    answers.change = note
    with LocalKaggle(root) as server, server.attach():
        repository.push("files=3")
    return sorted(seen)


def push_with(repository, timing, root, answers, field, value):
    """Push with that value in that field of every answer; what ended it."""
    named, *path = field.split(".")
    path = tuple(int(key) if key.isdigit() else key for key in path)

    def change(method, answer):
        return set_value(answer, path, value) if method == named else answer

    answers.change = change
    with LocalKaggle(root) as server, server.attach():
        try:
            folder = repository.push("files=3", runs=root / "runs", timing=timing)
        except KernelkitError as error:
            folder, ended = None, type(error).__name__
        else:
            ended = "complete"
        key = server.key()
    message = repository.message
    assert key not in message
    assert "\x1b" not in message
    for push in Ledger(root / "runs").pushes():
        assert push.version in (None, 1)
    if folder:
        repository.assert_whole(folder, 3)
        assert "unverified" in message or proved.is_proved(folder, "submission.csv")
    return ended


def cases():
    """Each field with one value in `make test`, and with three more in `make test-long`."""
    if ALL:
        patient = pytest.mark.timeout(ALL_SECONDS)
        return [pytest.param(name, None, marks=patient) for name in ODD]
    names = list(ODD)
    sample = [
        (names[(n + k) % len(names)], field) for k in range(4) for n, field in enumerate(FIELDS)
    ]
    first, more = sample[: len(FIELDS)], sample[len(FIELDS) :]
    return first + [pytest.param(*case, marks=pytest.mark.long) for case in more]


@pytest.mark.parametrize(("name", "field"), cases())
def test_an_odd_value_is_never_a_wrong_result(
    repository, tmp_path, answers, quick_sessions, timing, name, field
):
    patience = replace(timing.patience, silence=60.0, unproved=60.0)
    impatient = replace(timing, patience=patience)
    fields = [field] if field else fields_of_a_push(repository, tmp_path / "good", answers)
    for number, each in enumerate(fields):
        began = time.monotonic()
        ended = push_with(repository, impatient, tmp_path / str(number), answers, each, ODD[name])
        assert time.monotonic() - began < LONGEST, each
        if JOURNAL:
            with Path(JOURNAL).open("a") as journal:
                journal.write(f"{ended}\t{each} = {name}\n")
