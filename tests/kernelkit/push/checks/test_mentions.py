"""Paths below /kaggle/input count where the code cannot do without them."""

import pytest

from kernelkit.push.checks.mentions import mentions


def needed(*cells):
    sources = [(f"n.ipynb[cell {number}]", text) for number, text in enumerate(cells, 1)]
    return [mention.name for mention in mentions(sources) if mention.needed]


@pytest.mark.parametrize(
    "source",
    [
        'read("/kaggle/input/roses/train.csv")',
        'ROOT = "/kaggle/input/roses"',
        'ROOT = Path("../input/roses")',
        'read(f"/kaggle/input/roses/{name}.csv")',
        'main(["data=/kaggle/input/roses"])',
        "!python job.py --data /kaggle/input/roses/x",
        "%%bash\nls /kaggle/input/roses",
        'os.system("unzip /kaggle/input/roses/a.zip")',
        'try:\n    read("/kaggle/input/roses")\nexcept OSError:\n    print("it is not there")',
        'ROOT = Path("/kaggle/input/roses")\nif not ROOT.exists():\n    raise SystemExit("attach")',
        'def load(root="/kaggle/input/roses"):\n    return read(root)',
        'if fast:\n    read("/kaggle/input/roses")',
    ],
)
def test_what_the_code_reads(source):
    assert needed(source) == ["roses"]


PLACES = 'PLACES: tuple = ("/kaggle/input/roses", "data/roses")'


@pytest.mark.parametrize(
    "later",
    [
        "for place in PLACES:\n    root = Path(place) / 'x'\n    if root.exists():\n        break",
        "found = next((p for p in map(Path, PLACES) if p.exists()), None)",
        "known = [Path(p) for p in globals().get('PLACES', ())]\n"
        "found = next(p for p in known if p.is_dir())",
        "def first(places):\n    return next(p for p in places if exists(p))\nfirst(PLACES)",
    ],
)
def test_candidates_may_be_tried_in_another_cell(later):
    assert needed(PLACES, later) == []


@pytest.mark.parametrize(
    "later",
    [
        "for place in PLACES:\n    read(place)",
        "if os.path.exists('models'):\n    for place in PLACES:\n        read(place)",
        "ROOTS = [Path('a')]\nroot = next(r for r in ROOTS if r.exists())\nread(PLACES[0])",
    ],
)
def test_a_test_of_another_path_makes_no_candidates(later):
    assert needed(PLACES, later) == ["roses"]


@pytest.mark.parametrize(
    "source",
    [
        '# "/kaggle/input/roses"\n"""From /kaggle/input/roses."""',
        'print("attach /kaggle/input/roses")\nprint("/kaggle/input/roses")',
        'open("note.md", "w").write("data in /kaggle/input/roses\\n")',
        "%%writefile note.md\n/kaggle/input/roses",
        'read("/kaggle/input/" + name)\nread(f"/kaggle/input/roses-{number}/x")',
        'places = [Path("/kaggle/input/roses"), Path("data/roses")]\n'
        "place = next(p for p in places if p.exists())",
        'ROOT = "/kaggle/input/roses"\nif not os.path.exists(ROOT):\n    ROOT = "data"',
        'ROOT = "/kaggle/input/roses" if os.path.exists("/kaggle/input/roses") else "data"',
        "def find():\n    for path in Path('/kaggle/input').rglob('a.csv'):\n        return path\n"
        "    return Path('/kaggle/input/roses')",
        'try:\n    read("/kaggle/input/roses")\nexcept OSError:\n    read("data/roses.csv")',
        'try:\n    read("/kaggle/input/roses")\nexcept* OSError:\n    read("data/roses.csv")',
        "async def find():\n    for path in ('/kaggle/input/roses', 'data'):\n"
        "        if os.path.exists(path):\n            return path",
    ],
)
def test_what_it_can_do_without(source):
    assert needed(source) == []
