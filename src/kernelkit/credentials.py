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
    for file, text in texts:
        if _CREDENTIALS.search(file):
            yield f"{file}:1 looks like a credentials file"
            continue
        # Searching a whole text takes far less time than each of its lines, and most have nothing.
        suspected = _suspected(text)
        if not suspected and not any(secret in text for secret in secrets):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            kinds = (kind for kind, shape in suspected.items() if shape.search(line))
            own = any(secret in line for secret in secrets)
            kind = "your own Kaggle key or token" if own else next(kinds, "")
            if kind:
                yield f"{file}:{number} looks like {kind}"


def _suspected(text: str) -> dict[str, re.Pattern[str]]:
    """The kinds of credentials that a text may have, and their shapes."""
    lowered = text.lower()
    suspected = {}
    for kind, shape in _SHAPES.items():
        if any(word in lowered for word in _KINDS[kind]["words"]) and shape.search(text):
            suspected[kind] = shape
    return suspected
