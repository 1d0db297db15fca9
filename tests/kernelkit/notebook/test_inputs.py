"""Paths below /kaggle/input count where the code cannot do without them."""

import pytest

from kernelkit.notebook.reading import Program


def needed(*cells):
    sources = [(f"n.ipynb[cell {number}]", text) for number, text in enumerate(cells, 1)]
    inputs = Program.of(sources, cells=True).inputs
    return [each.path.partition("/")[0] for _, each in inputs if each.role == "read"]


@pytest.mark.parametrize(
    "source",
    [
        'read("/kaggle/input/roses/train.csv")',
        'ROOT = "/kaggle/input/roses"',
        'ROOT = Path("../input/roses")',
        'read(f"/kaggle/input/roses/{name}.csv")',
        'main(["data=/kaggle/input/roses"])',
        "!python job.py --data /kaggle/input/roses/x",
        "%%bash\ncp -r /kaggle/input/roses .",
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


def test_several_paths_in_a_list_are_read_where_no_code_tests_any():
    assert needed(PLACES, "for place in PLACES:\n    read(place)") == ["roses"]
    assert needed('ONE = ["/kaggle/input/roses"]', "os.path.exists('models')") == ["roses"]


def test_a_path_is_told_whole():
    source = 'read("/kaggle/input/datasets/anna/roses/train.csv")\n!cp -r ../input/tulips/x .'
    program = Program.of([("1", source)], cells=True)
    found = [(each.path, each.line, each.relative, each.in_command) for _, each in program.inputs]
    assert found == [
        ("datasets/anna/roses/train.csv", 1, False, False),
        ("tulips/x", 2, True, True),
    ]


@pytest.mark.parametrize(
    "source",
    [
        '# "/kaggle/input/roses"\n"""From /kaggle/input/roses."""',
        'print("attach /kaggle/input/roses")\nprint("/kaggle/input/roses")',
        'open("note.md", "w").write("data in /kaggle/input/roses\\n")',
        "%%writefile note.md\n/kaggle/input/roses",
        "!ls /kaggle/input/roses",
        "if fast:\n    !cp -r /kaggle/input/roses .",
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
