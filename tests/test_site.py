"""The pages of docs/ as a site: each is in the navigation, each link and anchor resolves."""

import os
import re
import runpy
import sys
import textwrap
import types
from pathlib import Path

import yaml
from checkouts import ROOT
from pygments import lexers
from pygments.token import Generic

DOCS = ROOT / "docs"
MADE = DOCS / "examples"  # by `make site`, from a real sweep
PAGES = sorted(DOCS.rglob("*.md"))
ROOT_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def in_navigation(entries):
    """The files of a navigation, in their order."""
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else in_navigation(value)


def without_blocks(text):
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)


def anchors(text):
    """The anchors that headings make, on GitHub as on the site."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(text), re.M)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", h).strip().lower()) for h in headings}


def broken_links(page):
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(page.read_text()))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = Path(os.path.normpath(page.parent / name)) if name else page
        if MADE in target.parents:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            yield link
        elif page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
            yield f"{link}: outside of the site"


def test_every_page_is_in_the_navigation_once():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    listed = list(in_navigation(config["nav"]))
    assert len(listed) > 20
    assert sorted(listed) == [page.relative_to(DOCS).as_posix() for page in PAGES]


def test_the_first_page_lists_every_other_one():
    text = (DOCS / "index.md").read_text()
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", text))
    assert linked == {page.relative_to(DOCS).as_posix() for page in PAGES} - {"index.md"}


def test_the_search_leaves_out_what_is_for_contributors(monkeypatch):
    hook = runpy.run_path(str(DOCS / "search.py"))["on_page_markdown"]

    def searched(section):
        above = [types.SimpleNamespace(title=section)]
        file = types.SimpleNamespace(src_uri="how-to/a.md")
        page = types.SimpleNamespace(ancestors=above, meta={}, file=file)
        hook("", page)
        return not page.meta.get("search", {}).get("exclude")

    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert config["hooks"] == ["docs/search.py"]
    titles = [title for entry in config["nav"] for title in entry]
    assert [title for title in titles if not searched(title)] == ["Contributors"]
    assert set(runpy.run_path(str(DOCS / "search.py"))["BOOSTS"]) < set(titles)


def test_every_link_and_anchor_resolves():
    broken = {str(page.relative_to(ROOT)): list(broken_links(page)) for page in PAGES + ROOT_PAGES}
    assert {page: links for page, links in broken.items() if links} == {}


def test_the_site_asks_nothing_of_a_network():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert (config["theme"]["font"], config["strict"]) == (False, True)
    assert "offline" in config["plugins"]
    assert config["extra"]["polyfills"] == ["iframe-worker.js"]  # its own comes from a network
    assert "repo_url" not in config  # it asks GitHub for its stars
    assert config["extra_javascript"] == ["site.js"]
    # Material fetches Mermaid for a diagram; pictures from elsewhere would be fetched too
    text = "\n".join(page.read_text() for page in PAGES)
    assert "```mermaid" not in text
    assert not re.search(r"!\[[^\]]*\]\(http|<(?:img|script|link)\b", text)


def test_the_lock_of_the_site_names_no_index():
    lock = (ROOT / "requirements-docs.lock").read_text()
    assert re.search(r"^mkdocs-material==", lock, re.M)
    assert "--hash=sha256:" in lock
    assert not re.search(r"https?://|--index|--find-links|--extra-index", lock)


def test_a_table_of_names_in_a_docstring_is_a_list_on_the_site(monkeypatch):
    griffe = types.SimpleNamespace(Extension=object, Object=object)  # is where the site is made
    monkeypatch.setitem(sys.modules, "griffe", griffe)
    listed = runpy.run_path(str(DOCS / "docstring_tables.py"))["listed"]
    text = "Push it.\n\nwait    False returns\n        at once\nhours   of a session\nRaises what?"
    assert "\n\n- `wait`: False returns\n    at once\n- `hours`: of a session\n\n" in listed(text)


def test_the_copy_button_gives_the_commands_alone():
    """Material copies what a browser shows while it copies: docs/site.css narrows that."""
    rule = "[data-md-copying] .gp, [data-md-copying]:has(.gp) .go { display: none; }"
    assert rule in (DOCS / "site.css").read_text()
    blocks = [
        b for p in PAGES for b in re.findall(r"```console[^\n]*\n(.*?)```", p.read_text(), re.S)
    ]
    prompted = [textwrap.dedent(block) for block in blocks if re.search(r"^ *\$ ", block, re.M)]
    assert prompted
    for block in prompted:
        tokens = list(lexers.get_lexer_by_name("console").get_tokens(block))
        kept = [text for kind, text in tokens if kind not in (Generic.Prompt, Generic.Output)]
        commands = re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)", block, re.M)
        assert "".join(kept).split() == " ".join(commands).split()
