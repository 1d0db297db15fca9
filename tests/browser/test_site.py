"""The documentation as people meet it: the site that `make site` builds, opened from disk."""

from pathlib import Path

import pytest
from conftest import serious_faults

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
WRITTEN = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def site_page(browser):
    """One page of the browser for the whole site, which must ask nothing of a network."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    asked = []
    page.on("request", lambda r: asked.append(r.url) if r.url.startswith("http") else None)
    yield page
    context.close()
    assert asked == []


def shown(page, written, scheme):
    """Open a page of docs/ in a colour scheme, which the theme chooses while it loads."""
    page.emulate_media(color_scheme=scheme)
    page.goto((SITE / written).with_suffix(".html").as_uri())
    page.wait_for_function("document.querySelector('.md-search').ariaLabel")


@pytest.mark.parametrize("written", WRITTEN, ids=str)
def test_axe_finds_nothing_serious_in_the_documentation(site_page, written):
    for scheme in ("light", "dark"):
        shown(site_page, written, scheme)
        colours = site_page.get_attribute("body", "data-md-color-scheme")
        assert colours == {"light": "default", "dark": "slate"}[scheme]
        assert serious_faults(site_page) == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("install", "tutorials/your-own-notebook"),
        ("submit", "tutorials/"),
        ("out of memory", "how-to/troubleshooting"),
        ("rehearsal failed", "how-to/rehearsal-fails"),
    ],
)
def test_a_search_finds_first_what_somebody_wants_to_know(site_page, words, found):
    shown(site_page, "index.md", "light")
    site_page.click(".md-search__input")
    site_page.keyboard.type(words)
    first = site_page.locator(".md-search-result__item > a").first
    first.wait_for()
    assert f"/site/{found}" in first.evaluate("link => link.href")


def test_no_page_of_the_documentation_is_wider_than_a_phone(site_page):
    site_page.set_viewport_size({"width": 360, "height": 800})
    wide = "document.documentElement.scrollWidth - innerWidth"
    widths = {}
    for written in WRITTEN:
        shown(site_page, written, "light")
        widths[str(written)] = site_page.evaluate(wide)
    site_page.set_viewport_size({"width": 1400, "height": 900})
    assert {name: width for name, width in widths.items() if width > 0} == {}


def test_a_wide_table_of_the_documentation_scrolls_by_keyboard(site_page):
    site_page.set_viewport_size({"width": 360, "height": 800})
    shown(site_page, "appendix/tpu.md", "light")
    table = site_page.locator(".md-typeset__scrollwrap").first
    table.focus()
    site_page.keyboard.press("ArrowRight")
    moved = "document.querySelector('.md-typeset__scrollwrap').scrollLeft > 0"
    site_page.wait_for_function(moved)
    site_page.set_viewport_size({"width": 1400, "height": 900})
