"""A competition's gateway and the notebook whose inference server it asks, side by side.

The gateway comes with the competition's files, as `kaggle_evaluation/<name>_gateway.py` or one
folder deeper. The two run in sandboxes of their own and meet in one closed network, where the
gateway finds the notebook under the host name `inference_server`. What it shows to the notebook
lies in /kaggle/shared.
"""

import json
import os
import re
import shutil
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_kaggle.execution import asking, processes, walls
from local_kaggle.execution.image import SERVES
from local_kaggle.execution.sandbox import EVALUATION, MountedSource, Sandbox, link_files

RERUN = "KAGGLE_IS_COMPETITION_RERUN"  # set in a session that runs for a competition's score
GATEWAYS = (f"{EVALUATION}/*_gateway.py", f"{EVALUATION}/*/*_gateway.py")
CORE = "core"  # the folder of what all hosts' gateways share
# At the beginning of a line, or of one in a text, which a bundle's modules are.
IMPORTS = re.compile(rf"(?:^|\\n|[\"'])[ \t]*(?:import|from)[ \t]+{EVALUATION}\b", re.MULTILINE)
FOLDER, LOG, SHARED = "gateway", "gateway.log", "shared"
VERDICT = "verdict.json"  # in place of a result, where the notebook ended before the gateway
HOSTS = "127.0.0.1 localhost inference_server gateway\n"
# The gateway shares a file by a bind mount, which needs rights that it has on Kaggle alone.
MOUNT = '#!/bin/sh\n[ "$1" = --bind ] || exit 0\nexec cp -RLT "$2" "$3"\n'

# What Kaggle says of a gateway's result; which of its errors gets which text is our reading.
NEVER_STARTED = "Notebook Inference Server Never Started"
SERVER_ERROR = "Notebook Inference Server Error"
NEVER_SERVED = "SERVER_NEVER_STARTED"
FORMAT_ERROR = "Submission Format Error"
KAGGLE_ERROR = "Kaggle Error"  # what the host's own code or the local Kaggle did
MESSAGES = {
    NEVER_SERVED: NEVER_STARTED,
    "SERVER_CONNECTION_FAILED": SERVER_ERROR,
    "SERVER_RAISED_EXCEPTION": SERVER_ERROR,
    "SERVER_MISSING_ENDPOINT": SERVER_ERROR,
    "GRPC_DEADLINE_EXCEEDED": SERVER_ERROR,
    "INVALID_SUBMISSION": FORMAT_ERROR,
}
LATE = "DEADLINE_EXCEEDED"
# A gRPC error's own words, among the lines of its dump; they may be several lines themselves.
GRPC_WORDS = re.compile(
    r'details = "(?:Exception calling application: )?(.*?)"\s*(?:debug_error_string|>|$)', re.DOTALL
)
OF_A_CALL = ("SERVER_RAISED_EXCEPTION", "SERVER_CONNECTION_FAILED")
AFTER_A_CALL = ("INVALID_SUBMISSION", "GATEWAY_RAISED_EXCEPTION")
LONGEST = 400  # characters of a reason
LARGEST_FILE = 1_000_000  # bytes that are read of a file that a gateway wrote
LAST_LINES = 3  # of a gateway that ended without a result


@dataclass(frozen=True)
class Gateway:
    """A competition's gateway: its module, and its data in `hidden` and `public`."""

    module: str
    competition: str
    hidden: Path
    public: Path

    def sandbox(self, session: Path, image: Path) -> Sandbox:
        """The gateway's own, inside the folder of a session."""
        folder = session / FOLDER
        data = self.hidden
        (folder / SHARED).mkdir(parents=True, exist_ok=True)
        (folder / "hosts").write_text(HOSTS)
        if not (data / EVALUATION).is_dir():
            data = folder / "data"
            link_files(self.hidden, data)
            link_files(self.public / EVALUATION, data / EVALUATION)
        source = MountedSource("competitions", self.competition, data)
        box = Sandbox(folder, image, [source], gateway=folder)
        shutil.copyfile(asking.__file__, box.source / "asking.py")
        for program in ("mount", "umount"):
            (box.source / program).write_text(MOUNT)
            (box.source / program).chmod(0o755)
        return box

    def command(
        self, box: Sandbox, notebook: list[str], environment: dict[str, str], working: Path
    ) -> list[str]:
        """The command that runs the notebook's own, and the gateway in its `box`, in one network.

        `environment` and `working` are the notebook's.
        """
        own = box.environment()
        own["PATH"] = f"/kaggle/src:{own['PATH']}"
        for name in (processes.VARIABLE, RERUN):
            own[name] = environment[name]
        python = f"{box.image}/bin/python"
        gateway = box.enclosed([python, "-P", "/kaggle/src/asking.py", self.module])
        spec = {
            "log": str(box.folder / LOG),
            "verdict": str(box.folder / VERDICT),
            "gateway": {"args": gateway, "env": own, "cwd": str(box.working)},
            "notebook": {
                "args": notebook,
                "env": {**environment, SERVES: "1"},
                "cwd": str(working),
            },
        }
        return walls.side_by_side(spec, box.builder)


def find(competition: str, hidden: Path, public: Path) -> Gateway | None:
    """The gateway among a competition's files; None where the notebook itself writes the file."""
    for folder in (hidden, public):
        for pattern in GATEWAYS:
            for file in sorted(folder.glob(pattern)):
                parts = file.relative_to(folder).with_suffix("").parts
                if parts[1] != CORE:
                    return Gateway(".".join(parts), competition, hidden, public)
    return None


def waits_for_one(text: str) -> bool:
    """Whether a notebook or script imports a gateway's package, and so waits to be asked."""
    return IMPORTS.search(_code(text)) is not None


def _code(text: str) -> str:
    """The code of a notebook's cells; a script's text as it is."""
    with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return "\n".join("".join(cell["source"]) for cell in cells)
    return text


def verdict(folder: Path) -> tuple[str, str]:
    """What Kaggle would say of a gateway's end, and the gateway's own reason; empty if all went.

    `folder` is that of the gateway, in that of its session.
    """
    own = _read(folder / "working" / asking.RESULT)
    result = own or _read(folder / VERDICT)
    if result.get("Succeeded") is True:
        return "", ""
    name, details = str(result.get("ErrorName") or ""), str(result.get("ErrorDetails") or "")
    if not name:
        said = _in_a_line(" ".join(_last_lines(folder / LOG))) or "it said nothing"
        return KAGGLE_ERROR, f"the gateway ended without a result ({LOG}): {said}"
    call = _read(folder / "working" / asking.CALL)
    called = _called(call)
    if LATE in name or LATE in details:
        details = f"{LATE}: {_late(call)}"
        if name == f"GRPC_{LATE}":
            details = _late(call)
        called = ""
    elif words := GRPC_WORDS.search(details):
        details = words[1]
    elif details.startswith("Traceback"):
        details = details.strip().splitlines()[-1]
    if not own and _was_served(call):
        name = "SERVER_CONNECTION_FAILED"
        details = "the notebook ended"
    details = _in_a_line(details)
    if called and name in OF_A_CALL:
        details = f"{called}: {details}".removesuffix(": ")
    elif called and name in AFTER_A_CALL:
        details = f"{details} (after {called})"
    elif called and name == NEVER_SERVED and not details:
        details = f"no server answered {called}"
    return MESSAGES.get(name, KAGGLE_ERROR), f"{name}: {details}".removesuffix(": ")


def waiting(folder: Path, least: float = 0.0) -> str:
    """The call that a gateway has been waiting for since `least` seconds or longer; empty if none.

    `folder` is that of the gateway. Hosts' packages set no limit to the answer to the first call,
    so that only the session's own ends it.
    """
    if not folder.is_dir():
        return ""
    call = _read(folder / "working" / asking.CALL)
    called = _called(call)
    began = call.get("began")
    if "seconds" in call or not called or not isinstance(began, int | float):
        return ""
    seconds = time.time() - began
    if seconds < least:
        return ""
    return f"the gateway has waited {seconds:.0f} seconds for the answer to {called}"


def _was_served(call: Mapping[str, Any]) -> bool:
    """Whether a call, or one before it, had its answer."""
    return bool(call.get("answered")) or call.get("number") not in (None, 1)


def _called(call: Mapping[str, Any]) -> str:
    """Which call it was, such as "call 3, predict()"; empty if that is not known."""
    name = call.get("name")
    number = call.get("number")
    if not isinstance(name, str) or not isinstance(number, int):
        return ""
    return f"call {number}, {name}()"


def _in_a_line(text: str) -> str:
    """A text of at most `LONGEST` characters, all of them printable."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"


def _late(call: Mapping[str, Any]) -> str:
    try:
        waited = float(call["seconds"])
        limit = call["limit"]
        within = "" if limit is None else f", and the host allows {float(limit):.0f}"
        called = _called(call) or f"{call['name']}()"
        return f"{called} had no answer after {waited:.0f} seconds{within}"
    except (KeyError, TypeError, ValueError):
        return "a call had no answer in the time that the host allows"


def _read(file: Path) -> dict[str, Any]:
    """The JSON object in a file that a gateway may have written; empty where there is none.

    A gateway may run still: what it leaves instead of a file, such as a link or a pipe, is not
    opened, or does not hold whoever reads it up.
    """
    with suppress(OSError, ValueError, RecursionError):
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
                return {}
            content = json.loads(opened.read(LARGEST_FILE))
        if isinstance(content, dict):
            return content
    return {}


def _last_lines(log: Path) -> list[str]:
    """The last lines of a log, whose length nobody limits."""
    with suppress(OSError), log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - LARGEST_FILE))
        text = opened.read(LARGEST_FILE).decode("utf-8", "replace")
        return text.strip().splitlines()[-LAST_LINES:]
    return []
