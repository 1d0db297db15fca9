"""Text that looks like a credential, by file and line, before it leaves the desk.

The shapes are those of the issuers' own documentation; a finding never repeats the secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_SHAPES = {
    "a Kaggle API token": r"\bKGAT_[A-Za-z0-9]{16,}",
    "the key of a kaggle.json": r"""(?i)["']key["']\s*:\s*["'][0-9a-f]{32}["']""",
    "a Kaggle key": r"""(?i)\bKAGGLE_(?:KEY|API_TOKEN)\b["']?\s*\]?\s*[:=]\s*["']?[\w-]{16,}""",
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY",
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})",
    "a Google API key": r"\bAIza[\w-]{35}",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{20,}",
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
    """Where something lies that looks like a credential, and what it looks like."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} looks like {self.what}"


def find_secrets(texts: Iterable[tuple[str, str]]) -> Iterator[Leak]:
    """The leaks in (file name, text) pairs, at most one a line.

    A file whose very name is that of a credentials file is one whatever it holds.
    """
    for file, text in texts:
        if _FILES.search(file):
            yield Leak(file, 1, "a file of credentials")
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            for what, pattern in _PATTERNS.items():
                if pattern.search(line):
                    yield Leak(file, number, what)
                    break
