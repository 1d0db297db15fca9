"""The two ends of a text that is too long to be shown, and a note on what lies between."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


def excerpt(text: str, longest: int, whole: str) -> str:
    """At most `longest` characters of a text, from both ends; `whole` says where all of it is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}{_left_out(len(text) - 2 * half, whole)}{text[len(text) - half :]}"


def joined(parts: Iterable[str], longest: int, whole: str) -> str:
    """`excerpt` of the parts put together, of which no more than twice `longest` is ever held."""
    half = longest // 2
    head: list[str] = []
    tail: deque[str] = deque()
    headed = tailed = passed = 0
    for part in parts:
        if headed < half:
            head.append(part)
            headed += len(part)
            continue
        tail.append(part)
        tailed += len(part)
        while tailed - len(tail[0]) >= longest:
            passed += len(tail[0])
            tailed -= len(tail.popleft())
    if not passed:
        return excerpt("".join([*head, *tail]), longest, whole)
    begin, end = "".join(head), "".join(tail)
    passed += len(begin) - half + len(end) - half
    return f"{begin[:half]}{_left_out(passed, whole)}{end[len(end) - half :]}"


def _left_out(characters: int, whole: str) -> str:
    return f"\n… {characters:,} characters are left out here: {whole} …\n"
