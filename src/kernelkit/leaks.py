"""What looks like a credential in the texts that are about to leave this machine."""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernelkit.terminal.safe_text import SHORTEST_SECRET

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
    # All texts as one: looking for words in it takes far less time than in each of many.
    whole = "\n".join(text for _, text in texts)
    lines = whole.split("\n")
    suspected = _suspected(whole)
    own = {line for secret in secrets for line in _lines_with(secret, whole)}
    worth_a_look = sorted(own.union(suspected))
    first = 0
    for file, text in texts:
        end = first + text.count("\n") + 1
        if _CREDENTIALS.search(file):
            yield f"{file}:1 looks like a credentials file"
        else:
            start, stop = (bisect_left(worth_a_look, line) for line in (first, end))
            for number in worth_a_look[start:stop]:
                shaped = (k for k in suspected.get(number, ()) if _SHAPES[k].search(lines[number]))
                kind = "your own Kaggle key or token" if number in own else next(shaped, "")
                if kind:
                    yield f"{file}:{number - first + 1} looks like {kind}"
        first = end


def _suspected(whole: str) -> dict[int, list[str]]:
    """The lines of a text, counted from 0, that have a word of some kinds of credentials."""
    suspected: dict[int, list[str]] = {}
    lowered = whole.lower()
    for kind, facts in _KINDS.items():
        for word in facts["words"]:
            for line in _lines_with(word, lowered):
                suspected.setdefault(line, []).append(kind)
    return suspected


def _lines_with(word: str, text: str) -> Iterator[int]:
    """The lines of a text that have a word, counted from 0."""
    line = start = 0
    position = text.find(word)
    while position >= 0:
        line += text.count("\n", start, position)
        yield line
        start = position
        position = text.find(word, (text.find("\n", position) + 1) or len(text))
