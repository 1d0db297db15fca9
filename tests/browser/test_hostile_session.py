"""What a session showed does nothing in the page, and can still be read."""

from conftest import HOSTILE, PICTURES


def test_attacks_of_a_sessions_outputs_do_nothing(opened):
    page = opened("hostile")
    assert page.title() != "owned"
    assert page.is_visible("h1")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_timeout(500)
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / "hostile.png")
    assert page.title() != "owned"
    assert page.url == HOSTILE.as_uri()
    assert page.locator("td", has_text="42").count() > 0  # a table's text is there
    for link in page.locator("a").all():
        address = (link.get_attribute("href") or "#").strip().lower()
        assert not address.startswith(("javascript:", "data:"))
        assert link.evaluate("(it) => getComputedStyle(it).position") != "fixed"
    for name in ("iframe", "object", "embed", "form", "base", "link[rel=stylesheet]"):
        assert page.locator(name).count() == 0


def test_the_page_of_a_hostile_session_is_no_burden(opened):
    assert HOSTILE.stat().st_size < 10_000_000
    page = opened("hostile")
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    assert timing < 5_000  # milliseconds, on a busy machine too
