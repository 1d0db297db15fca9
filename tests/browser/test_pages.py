"""Report, sweep page and index as people meet them: by eye, by keyboard, narrow, in the dark."""

import re
from pathlib import Path

import pytest
from conftest import PICTURES, PLACES, serious_faults
from playwright.sync_api import expect

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
    assert told["crossed"] == []
    assert told["small"] == []
    assert told["sideways"] <= 0


def test_a_table_of_unlike_runs_fits_its_page(changed):
    """No column of the page of all runs is out of sight at 1,400 px, whatever differs in it."""

    def unlike(data):
        kinds = ("EfficientNetB5", "DenseNet201"), (512, 224), ("block:block6", "none")
        for n, run in enumerate(data["runs"]):
            values = (kind[n % 2] for kind in kinds)
            run["parameters"] = dict(zip(data["columns"], values, strict=True))
            run["device"] = ("TPU v5e × 8", "AMD EPYC, 2 cores (rehearsal)")[n % 2]
            run["data"] = ("tpu-getting-started (3,712 val)", "drawn flowers (520 val)")[n % 2]

    page = changed("index", unlike)
    assert page.locator("th", has_text="validated on").count() == 1
    wide = "(it) => it.scrollWidth - it.clientWidth"
    assert page.locator(".scroll").first.evaluate(wide) == 0
    assert page.evaluate(OVERLAPS)["found"] == []
    page.screenshot(path=PICTURES / "unlike-1400.png", full_page=True)


@pytest.mark.parametrize("name", PLACES)
def test_a_page_has_the_width_of_the_paper(opened, name):
    page = opened(name, width=794)  # A4 at 96 dots an inch
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    wide = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(wide) <= 0
    assert not page.locator(".bar").first.is_visible()


@pytest.mark.parametrize("width", [1400, 360])
@pytest.mark.parametrize("at", [1, 5, 9])
def test_the_name_of_a_phase_lies_on_no_curve(opened, width, at):
    page = opened("report", width)
    page.evaluate(
        """(at) => lineChart(document.querySelector("[data-chart]"), {
          label: "Macro F1: highest 0.9039, epoch 10", height: 240,
          phases: [{ at, label: "fine-tune" }],
          series: [{ label: "up", values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] },
                   { label: "down", values: [9, 8, 7, 6, 5, 4, 3, 2, 1, 0] }],
        })""",
        at,
    )
    told = page.evaluate(OVERLAPS)
    assert (told["found"], told["crossed"]) == ([], [])


FIRST_ROWS = 40


def test_a_sort_lays_out_the_first_rows_and_a_scroll_the_others(opened):
    page = opened("search")
    lines = page.locator("#rows tr:not(.more)")
    assert lines.count() == FIRST_ROWS
    scroll = page.locator(".scroll").first
    scroll.evaluate("(it) => { it.scrollTop = it.scrollHeight }")
    expect(lines).not_to_have_count(FIRST_ROWS)
    page.focus("th[data-key='seconds'] button")
    page.keyboard.press("Enter")
    assert lines.count() == FIRST_ROWS
    assert scroll.evaluate("(it) => it.scrollTop") == 0
    assert page.evaluate("document.activeElement.closest('th').dataset.key") == "seconds"
    page.locator(".more button").dispatch_event("click")
    times = page.evaluate("shown().map((row) => row.seconds)")
    expect(lines).to_have_count(len(times))
    assert times == sorted(times, reverse=True)
    cells = page.locator("#rows td[data-label='time']").all_inner_texts()
    shown = [text.split("\n")[0] for text in cells]  # the best also says that it is
    assert shown == page.evaluate("times => times.map(duration)", times)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_axe_finds_nothing_serious(opened, name, scheme):
    page = opened(name, scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert serious_faults(page) == []


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
    assert page.locator(".curve").count() == before - 1  # the mean of its two seeds


@pytest.mark.parametrize(("name", "chart"), [("sweep", "#curves svg"), ("report", ".curves svg")])
def test_a_crosshair_reads_values_by_pointer_and_by_keyboard(opened, name, chart):
    page = opened(name)
    assert page.locator(f"{chart} .curve").count() >= 2  # there on load
    focus_by_tab(page, f"{chart}[tabindex]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    reading = page.locator(f"{chart.split()[0]} .reading").first
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
    while page.locator("[data-matrix] button[aria-label=larger]").is_enabled():
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
    assert page.inner_text("h1") == "shapes"
    page.go_back()
    page.click(".trail a:text('all runs')")
    assert page.inner_text("h1") == "Runs"


def test_a_failed_run_leads_to_its_cell_and_to_its_log(opened):
    page = opened("failed")
    assert "nowhere" in page.inner_text(".failure")
    page.click(".failure a:text('cell that failed')")
    assert page.is_visible("#failed")
    page.click("header a:text('own log')")
    assert page.url.endswith("/log.txt")


def test_a_report_is_small():
    assert PLACES["report"]().stat().st_size < 3_000_000
