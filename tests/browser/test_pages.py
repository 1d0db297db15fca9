"""Report, sweep page and index as people meet them: by eye, by keyboard, narrow, in the dark."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import PICTURES, PLACES

OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text()
VIEWS = [(width, scheme) for width in (1400, 360) for scheme in ("light", "dark")]


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
@pytest.mark.parametrize("name", PLACES)
def test_nothing_overlaps_is_too_small_or_out_of_sight(opened, name, width, scheme):
    page = opened(name, width, scheme)
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png", full_page=True)
    told = page.evaluate(OVERLAPS)
    assert told["found"] == []
    assert told["small"] == []
    assert told["sideways"] <= 0


def test_an_overlap_would_be_seen(opened):
    page = opened("index")
    page.evaluate("document.querySelector('#summary').style.marginTop = '-1.2em'")
    assert page.evaluate(OVERLAPS)["found"] != []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_axe_finds_nothing_serious(opened, name, scheme):
    page = opened(name, scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in found if one["impact"] in ("serious", "critical")
    ]  # fmt: skip
    assert serious == []


def focus_by_tab(page, selector, most=120):
    """Press Tab until the focus is on what the selector names; it must be seen to be there."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            style = "getComputedStyle(document.activeElement)"
            assert page.evaluate(f"{style}.outlineStyle") != "none"
            assert page.evaluate(f"parseFloat({style}.outlineWidth)") >= 1
            return
    raise AssertionError(f"no Tab leads to {selector}")


def test_the_table_by_keyboard(opened):
    page = opened("sweep")
    head = "th[data-key='p:augment'] button"
    focus_by_tab(page, head)
    page.keyboard.press("Enter")
    assert page.get_attribute("th[data-key='p:augment']", "aria-sort") == "ascending"
    first = page.inner_text("#rows tr:first-child")
    page.keyboard.press("Enter")  # the focus is still there
    assert page.get_attribute("th[data-key='p:augment']", "aria-sort") == "descending"
    assert page.inner_text("#rows tr:first-child") != first

    before = page.locator(".curve").count()
    focus_by_tab(page, "#rows input:not([disabled])")
    page.keyboard.press("Space")
    assert page.locator(".curve").count() == before - 2  # its two seeds

    page.focus("#filter")
    page.keyboard.type("augment=flip")
    flips = page.evaluate("made.settings.filter((row) => row.parameters.augment === 'flip').length")
    assert page.locator("#rows tr").count() == flips < page.evaluate("made.settings.length")
    page.reload()
    assert page.input_value("#filter") == "augment=flip"
    assert page.input_value("select[data-name='augment']") == "flip"
    assert page.locator("#rows tr").count() == flips
    page.fill("#filter", "no such thing")
    assert "No run matches" in page.inner_text("#rows")


def test_errors_fold(opened):
    page = opened("sweep")
    focus_by_tab(page, ".reason summary")
    assert not page.is_visible(".reason pre")
    page.keyboard.press("Enter")
    assert "/nowhere/weights.h5" in page.inner_text(".reason pre")


@pytest.mark.parametrize(("name", "chart"), [("sweep", "#curves svg"), ("report", ".curves svg")])
def test_a_crosshair_reads_values_by_pointer_and_by_keyboard(opened, name, chart):
    page = opened(name)
    assert page.locator(f"{chart} .curve").count() >= 2  # there on load
    focus_by_tab(page, f"{chart}[tabindex]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    reading = page.locator(".reading").first
    assert "epoch 2" in reading.inner_text()
    page.keyboard.press("End")
    assert re.match(r"epoch [3-9]", reading.inner_text())
    page.locator(f"{chart}[tabindex]").first.hover(position={"x": 60, "y": 60})
    assert "epoch 1" in reading.inner_text()


def test_the_matrix_is_read_and_enlarged(opened):
    page = opened("report")
    focus_by_tab(page, ".matrix")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    reading = page.locator("[data-matrix] .reading")
    assert reading.inner_text().startswith("true ")
    names = page.locator(".matrix .left text").count()
    width = page.locator(".matrix .grid > svg:last-child").bounding_box()["width"]
    for _ in range(4):
        page.keyboard.press("+")
    assert page.locator(".matrix .grid > svg:last-child").bounding_box()["width"] > 1.5 * width
    assert page.locator(".matrix .left text").count() == 104 >= names
    assert page.evaluate(OVERLAPS)["found"] == []
    page.locator(".matrix").screenshot(path=PICTURES / "matrix.png")


def test_contents_show_where_one_is(opened):
    page = opened("report")
    links = page.locator(".contents a")
    for number in range(links.count()):
        links.nth(number).click()
        page.wait_for_timeout(100)
    assert links.last.get_attribute("aria-current") == "location"
    assert page.is_visible("#notebook .notebook")  # unfolded on the way
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(100)
    assert links.first.get_attribute("aria-current") == "location"


def test_from_the_index_to_a_report_and_back(opened):
    page = opened("index")
    page.click("#sweeps a")
    assert page.inner_text("h1") == "shapes"
    page.locator("#rows a").first.click()
    assert page.inner_text("h1").startswith("weights=none augment=")
    page.click(".trail a:text('shapes')")
    page.click(".trail a:text('all runs')")
    assert page.inner_text("h1") == "Runs"


def test_a_failed_run_leads_to_its_log(opened):
    page = opened("failed")
    page.click(".failure a:text('cell that failed')")
    assert page.is_visible("#failed")
    page.click(".failure a:text('its error')")
    assert "nowhere" in page.inner_text("body")


def test_a_report_is_small():
    assert PLACES["report"]().stat().st_size < 3_000_000
