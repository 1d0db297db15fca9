"""`docs/explanation/architecture.md` names the rooms of the house as they stand."""

import ast
import re

import rooms as rooms_table
from checkouts import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text()


def rooms():
    """{path of a room below `src/`: the first paragraph of its docstring}."""
    found = {}
    for path in ROOT.glob("src/*/**/__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text()))
        room = path.parent.relative_to(ROOT / "src")
        if len(room.parts) > 1:
            found[room.as_posix()] = " ".join(text.split("\n\n")[0].split()).rstrip(".")
    return found


def test_every_room_stands_in_the_table_of_its_package_with_what_its_docstring_says():
    tables = re.findall(r"\| room of `(\w+)` \|.*\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
    shown = {
        f"{package}/{room}": what
        for package, rows in tables
        for room, what in re.findall(r"\| `([\w/]+)` \| (.*) \|", rows)
    }
    assert shown == rooms()


def test_the_ground_floor_is_that_of_the_walls():
    sentence = re.search(r"ground floor of `kernelkit` stand (.*?), which", PAGE, re.S)
    assert set(re.findall(r"`(\w+)`", sentence[1])) == set(rooms_table.KERNELKIT_GROUND)


def test_every_file_it_names_is_there():
    files = re.findall(r"`(src/[\w/.]+)`", PAGE)
    assert len(files) > 5
    assert [name for name in files if not (ROOT / name).exists()] == []


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


def test_every_room_says_truly_what_it_may_import():
    wrong = {}
    for path in ROOT.glob("src/kernelkit/**/__init__.py"):
        own = path.parent.relative_to(ROOT / "src").parts
        text = ast.get_docstring(ast.parse(path.read_text()))
        sentence = re.search(r"May\s+import\s+(.*?)\.(?:\s|$)", text, re.S)
        if not sentence:  # the commands, which may import every room
            assert own in (("kernelkit",), ("kernelkit", "cli", "commands"))
            continue
        said = set(re.findall(r"`(\w+)`", sentence[1]))
        below = {room.split(".")[1] for room in rooms_table.ROOMS[".".join(own)]}
        below -= {*rooms_table.KERNELKIT_GROUND, *own}
        within = {room.parent.name for room in ROOT.glob(f"src/kernelkit/{own[1]}/*/__init__.py")}
        if below - said or said - below - within - {*own}:
            wrong[".".join(own)] = said ^ below
    assert wrong == {}


def test_every_module_that_a_text_says_to_see_is_there():
    files = [*ROOT.glob("src/**/*.py")]
    lost = []
    for path in files:
        for seen in re.findall(r"\bsee `([a-z]\w*(?:\.\w+)+)`", path.read_text()):
            module, _, member = seen.replace(".", "/").rpartition("/")
            is_module = any(file.match(f"{module}/{member}.py") for file in files)
            named = re.compile(rf"^(?:def |class )?{member}\b", re.MULTILINE)
            holders = [file for file in files if file.match(f"{module}.py")]
            if not is_module and not any(named.search(file.read_text()) for file in holders):
                lost.append(f"{path.relative_to(ROOT)}: {seen}")
    assert lost == []
