"""What looks like a credential in the texts that are about to leave this machine."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernelkit.terminal.events import SHORTEST_SECRET

_CREDENTIALS = re.compile(
    r"(?:^|/)(?:\.env(?:\.\w+)?|kaggle\.json|access_token(?:\.txt)?|credentials\.json|\.netrc"
    r"|id_(?:rsa|ed25519))$"
)
_KINDS = tomllib.loads(Path(__file__).with_name("secrets.toml").read_text("utf-8"))
_SHAPES = {kind: re.compile(facts["shape"], re.MULTILINE) for kind, facts in _KINDS.items()}


def find_secrets(texts: Iterable[tuple[str, str]], secrets: Sequence[str] = ()) -> Iterator[str]:
    """What is or looks like a credential in (file name, text) pairs, as "FILE:LINE looks like …".

    A file with the name of a credentials file always counts. `secrets` are the client's own, which
    are found whatever they look like. A finding never repeats the secret.
    """
    secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    texts = list(texts)
    suspected = _suspected("\n".join(text for _, text in texts), _SHAPES)
    for file, text in texts:
        if _CREDENTIALS.search(file):
            yield f"{file}:1 looks like a credentials file"
            continue
        kinds = _suspected(text, suspected)
        if not kinds and not any(secret in text for secret in secrets):
            continue
        lines = text.split("\n")
        numbers = range(len(lines)) if secrets else _suspected_lines(text, kinds)
        for number in numbers:
            line = lines[number]
            found = (kind for kind in kinds if _SHAPES[kind].search(line))
            own = any(secret in line for secret in secrets)
            kind = "your own Kaggle key or token" if own else next(found, "")
            if kind:
                yield f"{file}:{number + 1} looks like {kind}"


def _suspected(text: str, kinds: Iterable[str]) -> list[str]:
    """Those of these kinds of credentials of which a text has a word.

    Looking for words takes far less time than looking for shapes, and most texts have none.
    """
    lowered = text.lower()
    return [kind for kind in kinds if any(word in lowered for word in _KINDS[kind]["words"])]


def _suspected_lines(text: str, kinds: Iterable[str]) -> list[int]:
    """The indices of a text's lines that have a word of these kinds of credentials."""
    lines = text.lower().split("\n")
    found: set[int] = set()
    for kind in kinds:
        for word in _KINDS[kind]["words"]:
            found.update(index for index, line in enumerate(lines) if word in line)
    return sorted(found)
