"""Find text that is or looks like a credential, before it is uploaded.

The patterns follow the issuers' own documentation; a finding never repeats the secret.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelkit.terminal.events import SHORTEST_SECRET

_SHAPES = {
    "a Kaggle API token": r"\bKGAT_[A-Za-z0-9]{16,}",
    # Only after a name like "key": elsewhere, 32 hexadecimal digits are often a harmless hash.
    "a Kaggle key by its length": (
        r"""(?i)(?<![A-Za-z0-9_])(?:(?:api|kaggle|secret|access|private|my)_?)*key\\*["']?\s*\]?"""
        r"""(?:\s*:\s*str)?\s*[:=]\s*\\*["']?[0-9a-f]{32}(?![0-9A-Za-z])"""
    ),
    "a Kaggle key": r"""(?i)\bKAGGLE_(?:KEY|API_TOKEN)\b["']?\s*\]?\s*[:=]\s*["']?[\w-]{16,}""",
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY",
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})",
    "a Google API key": r"\bAIza[\w-]{35}",
    "an AWS secret key": (
        r"""(?i)\baws_?(?:secret_?access_?key|secret_?key|session_?token|secret)\\*["']?\s*\]?"""
        r"""\s*[:=]\s*\\*["']?[A-Za-z0-9/+]{40}"""
    ),
    "a bearer token": r"(?i)\bbearer\s+(?=[\w.~+/-]*\d)[\w.~+/-]{20,}",
    "a basic authorization": (
        r"""(?i)\bauthorization\\*["']?\s*[:=]\s*\\*["']?basic\s+[A-Za-z0-9+/]{12,}={0,2}"""
    ),
    "a JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "a password in a URL": (
        r"""(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'`<>{}()]*:"""
        r"""(?!(?:password|passwd|pass|secret|token|x+|\*+|\.+)@)"""
        r"""[^\s/:@"'`<>{}()$%][^\s/@"'`<>{}()]{2,}@[\w[]"""
    ),
    "a Slack token": r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{20,}|\bxapp-\d-[A-Za-z0-9-]{20,}",
    "a Slack webhook": r"\bhooks\.slack\.com/(?:services|workflows)/T\w+/\w+/\w{8,}",
    "a Stripe key": r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/]{24,}",
    "an API key": r"\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,}",
    "a Weights & Biases key": r"""(?i)\bWANDB_API_KEY\b["']?\s*\]?\s*[:=]\s*["']?[0-9a-f]{40}""",
    "a password or secret": (
        r"""(?i)^\s*(?:export\s+)?[A-Z0-9_]*(?:SECRET|PASSWORD|PASSWD|API_?KEY|TOKEN)"""
        r"""\s*=\s*(["']?)(?=[^\s"']*\d)(?=[^\s"']*[A-Za-z])[A-Za-z0-9+/_.-]{20,}={0,2}\1\s*(?:#.*)?$"""
    ),
}
_FILES = re.compile(
    r"(?:^|/)(?:\.env(?:\.\w+)?|kaggle\.json|access_token(?:\.txt)?|credentials\.json|\.netrc|id_(?:rsa|ed25519))$"
)
_PATTERNS = {what: re.compile(shape) for what, shape in _SHAPES.items()}


@dataclass(frozen=True)
class Leak:
    """The location of a text that looks like a credential, and the kind of credential."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} looks like {self.what}"


OWN = "your own Kaggle key or token"


def find_secrets(texts: Iterable[tuple[str, str]], secrets: Sequence[str] = ()) -> Iterator[Leak]:
    """The leaks in (file name, text) pairs, at most one per line.

    A file with the name of a credentials file always counts as a leak. `secrets` are the client's
    own, which are found whatever they look like.
    """
    secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    for file, text in texts:
        if _FILES.search(file):
            yield Leak(file, 1, "a credentials file")
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if any(secret in line for secret in secrets):
                yield Leak(file, number, OWN)
                continue
            for what, pattern in _PATTERNS.items():
                if pattern.search(line):
                    yield Leak(file, number, what)
                    break


def texts_of(cells: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The sources, tags and decoded attachments of cells, each with the name of its place."""
    texts = [(place, cell["source"]) for place, cell in cells.items()]
    for place, cell in cells.items():
        texts.append((f"{place} tags", "\n".join(map(str, cell["metadata"].get("tags", [])))))
        for file, kinds in dict(cell.get("attachments") or {}).items():
            for data in dict(kinds).values():
                text = data if isinstance(data, str) else json.dumps(data)
                decoded = f"{file}\n{text}\n{_decoded(text)}"
                texts.append((f"{place} attachment {file}", decoded))
    return texts


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except ValueError:
        return ""
