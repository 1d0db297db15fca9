"""The two ends of a text that is too long to be shown, and a note on what lies between."""


def excerpt(text: str, longest: int, whole: str) -> str:
    """At most `longest` characters of a text, from both ends; `whole` says where all of it is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    skipped = f"\n… {len(text) - 2 * half:,} characters are left out here: {whole} …\n"
    return f"{text[:half]}{skipped}{text[len(text) - half :]}"
