"""Paths below /kaggle/input count where the code cannot do without them."""

import pytest

from kernelkit.notebook.code.reading import Program


def needed(*cells):
    sources = [(f"n.ipynb[cell {number}]", text) for number, text in enumerate(cells, 1)]
    inputs = Program.of(sources, cells=True).inputs
    return [each.path.partition("/")[0] for _, each in inputs if not each.optional]


@pytest.mark.parametrize(
    "source",
    [
        'read("/kaggle/input/roses/train.csv")',
        'ROOT = "/kaggle/input/roses"',
        'ROOT = Path("../input/roses")',
        'read(f"/kaggle/input/roses/{name}.csv")',
        "!python job.py --data /kaggle/input/roses/x",
        "%%bash\ncp -r /kaggle/input/roses .",
        'os.system("unzip /kaggle/input/roses/a.zip")',
        'ROOT = Path("/kaggle/input/roses")\nif not ROOT.exists():\n    raise SystemExit("attach")',
        'def load(root="/kaggle/input/roses"):\n    return read(root)',
        'if fast:\n    read("/kaggle/input/roses")',
        'for fold in range(5):\n    read("/kaggle/input/roses")',
        'read("/kaggle/input/roses/a.csv").to_csv("out.csv")',
        'numpy.save("a.npy", numpy.load("/kaggle/input/roses/a.npy"))',
        'open("/kaggle/input/roses/a.txt", "rb")',
        'KaggleDatasets().get_gcs_path("roses")',
    ],
)
def test_what_the_code_reads(source):
    assert needed(source) == ["roses"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ('"roses"', ["roses"]),
        ('"a"\nname = "b"', []),
        ("choose()", []),
        ("4", []),
    ],
)
def test_a_name_in_braces_is_the_text_to_which_the_code_sets_it_once(name, found):
    assert needed(f"name = {name}", 'read(f"/kaggle/input/{name}/train.csv")') == found
    assert needed(f"name = {name}", 'read(f"../input/{name}/{split}.csv")') == found


def test_a_parameter_hides_a_name_in_its_function_alone():
    cells = 'slug = "roses"', "def get(slug):\n    read(f'/kaggle/input/{slug}/a.csv')"
    assert needed(*cells) == []
    assert needed(*cells, "read(f'/kaggle/input/{slug}/b.csv')") == ["roses"]


def test_one_of_several_in_a_list_may_be_missing():
    assert needed('PLACES: tuple = ("/kaggle/input/roses", "data/roses")') == []
    assert needed('PLACES = [home, Path("/kaggle/input/roses") / "x"]') == []
    assert needed('PLACES = ["/kaggle/input/roses"]') == ["roses"]


def test_what_calls_in_a_list_read_is_read():
    assert needed('both = concat([read("/kaggle/input/roses"), read("b.csv")])') == ["roses"]
    assert needed('a, b = read("b.csv"), read(join("/kaggle/input/roses", "a.csv"))') == ["roses"]


@pytest.mark.parametrize(
    "source",
    [
        'table.to_csv("/kaggle/input/roses/out.csv")',
        'open("/kaggle/input/roses/a.txt", "w")',
        'with Path("/kaggle/input/roses/a.txt").open(mode="a") as file:\n    pass',
        'numpy.save(os.path.join("/kaggle/input/roses", "a.npy"), table)',
        'Path("/kaggle/input/roses").mkdir()',
    ],
)
def test_what_the_code_writes_is_no_input(source):
    assert Program.of([("1", source)], cells=True).inputs == ()


def test_a_path_is_told_whole():
    source = 'read("/kaggle/input/datasets/anna/roses/train.csv")\n!cp -r ../input/tulips/x .'
    program = Program.of([("1", source)], cells=True)
    found = [(each.path, each.line) for _, each in program.inputs]
    assert found == [("datasets/anna/roses/train.csv", 1), ("tulips/x", 2)]


@pytest.mark.parametrize(
    "source",
    [
        '# "/kaggle/input/roses"\n"""From /kaggle/input/roses."""',
        'print("attach /kaggle/input/roses")',
        'open("note.md", "w").write("data in /kaggle/input/roses\\n")',
        "%%writefile note.md\n/kaggle/input/roses",
        "if fast:\n    !cp -r /kaggle/input/roses .",
        'read("/kaggle/input/" + name)\nread(f"/kaggle/input/roses-{number}/x")',
        'places = [Path("/kaggle/input/roses"), Path("data/roses")]\n'
        "place = next(p for p in places if p.exists())",
        'ROOT = "/kaggle/input/roses" if os.path.exists("/kaggle/input/roses") else "data"',
        'try:\n    read("/kaggle/input/roses")\nexcept OSError:\n    print("it is not there")',
        'try:\n    read("/kaggle/input/roses")\nexcept* OSError:\n    read("data/roses.csv")',
        "async def find():\n    for path in ('/kaggle/input/roses', 'data'):\n"
        "        if os.path.exists(path):\n            return path",
    ],
)
def test_what_it_can_do_without(source):
    assert needed(source) == []


def test_a_python_file_that_a_cell_writes_is_a_program_with_the_lines_of_its_cell():
    cells = ["x = 1", "%%writefile -a load.py\nimport polars\nread('/kaggle/input/roses')"]
    sources = [(f"n.ipynb[cell {number}]", text) for number, text in enumerate(cells, 1)]
    (written,) = Program.of(sources, cells=True).written
    assert written.needed == {"polars": "n.ipynb[cell 2], line 2"}
    assert [(place, each.line) for place, each in written.inputs] == [("n.ipynb[cell 2]", 3)]


@pytest.mark.parametrize(
    "cell", ["%%writefile notes.txt\nimport polars", "%%writefile a.py\nx = = 1"]
)
def test_a_file_that_is_not_python_is_no_program(cell):
    assert Program.of([("n.ipynb[cell 1]", cell)], cells=True).written == ()
