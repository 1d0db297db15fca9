"""Shorten a text that is too long to show to its two ends, with a note in between."""


def excerpt(text: str, longest: int, whole: str) -> str:
    """At most `longest` characters of a text, from both ends; `whole` says where the full text
    is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    skipped = f"\n… {len(text) - 2 * half:,} characters omitted: {whole} …\n"
    return f"{text[:half]}{skipped}{text[len(text) - half :]}"
