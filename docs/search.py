"""A hook of the site's generator: a search finds first what one begins with.

A search for "submit" should find how to submit before a list of functions, and no appendix: what is
for contributors stays out of the search.
"""

from typing import Any

SECTION = "Contributors"
BOOSTS = {"Start here": 8, "On Kaggle": 2, "Results": 2}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say what the search makes of a page by its section; the search reads it later."""
    for section in page.ancestors:
        if section.title == SECTION:
            page.meta["search"] = {"exclude": True}
        elif section.title in BOOSTS and not page.file.src_uri.startswith("reference/"):
            page.meta["search"] = {"boost": BOOSTS[section.title]}
    return markdown
