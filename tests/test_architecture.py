"""`docs/explanation/architecture.md` draws the house as it stands."""

import ast
import re

from checkouts import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text()


def drawn():
    """The modules of the page's tree, as paths below `src/`."""
    tree = re.search(r"```text\n(.*?)```", PAGE, re.S)[1]
    found, package, folder = set(), "", ""
    for line in tree.splitlines():
        if match := re.fullmatch(r"src/(\w+)/", line):
            package = match[1]
        elif match := re.fullmatch(r"( +)(\w+)/ +(.*)", line):
            room, depth = match[2], len(match[1])
            folder = room if depth == 2 else f"{folder.split('/')[0]}/{room}"
            found |= {f"{package}/{folder}/{name}" for name in match[3].split(" · ")}
        elif line.strip():
            found |= {f"{package}/{name}" for name in line.strip().split(" · ")}
    return found


def test_the_tree_is_the_tree_of_the_folders():
    modules = {
        path.relative_to(ROOT / "src").with_suffix("").as_posix()
        for path in ROOT.glob("src/**/*.py")
        if path.name != "__init__.py"
    }
    assert drawn() == modules


def test_every_room_says_truly_where_to_begin():
    lost = []
    for path in ROOT.glob("src/**/__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text()))
        begin = re.search(r"[Bb]egin\s+with\s+(.*?)(?:\.\s|\.$|;|:)", text, re.S)
        for name in re.findall(r"`([\w.]+)`", begin[1] if begin else ""):
            module, _, member = name.partition(".")
            file = path.parent / f"{module}.py"
            defined = rf"^(def|class) {member}\b"
            if not file.exists() or (member and not re.search(defined, file.read_text(), re.M)):
                lost.append(f"{path.parent.name}: {name}")
    assert lost == []
