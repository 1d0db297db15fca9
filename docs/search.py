"""A hook of the site's generator: what is for contributors stays out of the search.

A search for "install" should find how to install, and no appendix.
"""

from typing import Any

SECTION = "Contributors"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave a page of the section for contributors out of the search, which reads it later."""
    if any(section.title == SECTION for section in page.ancestors):
        page.meta["search"] = {"exclude": True}
    return markdown
