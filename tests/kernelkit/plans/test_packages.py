"""A file comes out of its cell byte for byte, whatever it holds."""

import random

import pytest

from kernelkit.errors import PreflightError
from kernelkit.notebooks.document import literal
from kernelkit.plans import packages

NASTY = [
    "",
    "\n",
    "plain = 1\n",
    "no newline at the end",
    'quotes = """three"""\n',
    "quotes = '''three'''\n",
    "both = '''a''' + \"\"\"b\"\"\"\n",
    "ends in a backslash \\",
    "ends in a quote '",
    "ends in quotes '''",
    'ends in quotes """',
    "ends in both '\"",
    "windows\r\nlines\r\n",
    "raw = r'\\d+\\N{BULLET}\\u0041'\n",
    "form\x0cfeed \x1b[0m\u2028 and \x85\n",
    "blüte = '🌸'\n",
    ">>> prompt\n... more\n",
    "%magic\n!shell\n%%cell\n",
    "In [1]: x\n",
    "what?\n",
    "\ttabs and   spaces  \n\n\n",
    "\ufeffmark\n",
    "\\'''\n",
]


@pytest.mark.parametrize("text", NASTY)
def test_a_literal_gives_back_its_text(text):
    assert eval(literal(text)) == text


@pytest.mark.parametrize("seed", range(50))
def test_any_text_survives(seed):
    draw = random.Random(seed)
    alphabet = "\\'\"\n\r\t abc#{}%!?\x0c\x85\u2028é"
    text = "".join(draw.choice(alphabet) for _ in range(draw.randint(0, 60)))
    assert eval(literal(text)) == text


@pytest.mark.parametrize("text", NASTY)
def test_jupyter_leaves_a_carried_file_alone(text):
    from IPython.core.inputtransformer2 import TransformerManager

    cell = f"# blossom/file\n_carry(\n    'path',\n    {literal(text)},\n)"
    carried = {}
    transformed = TransformerManager().transform_cell(cell)
    exec(transformed, {"_carry": lambda path, text: carried.update({path: text})})
    assert carried == {"path": text}


def test_readable_text_stays_as_it_is():
    text = "def f(x):\n    return '\\n'.join(x)\n"
    assert text in literal(text)


def test_data_files_ride_and_caches_do_not(tmp_path):
    package = tmp_path / "blossom"
    (package / "inner" / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "names.json").write_bytes('["Blüte"]\r\n'.encode())
    (package / "inner" / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"\0")
    found = packages.files(package)
    assert [f.path for f in found] == ["blossom/__init__.py", "blossom/inner/names.json"]
    assert found[1].text == '["Blüte"]\r\n'


def test_desk_only_files_stay_at_home(tmp_path):
    package = tmp_path / "blossom"
    (package / "desk").mkdir(parents=True)
    for name in ("__init__.py", "ingest.py", "ingest_more.py", "desk/tool.py"):
        (package / name).write_text("")
    found = packages.files(package, ["blossom/ingest*.py", "blossom/desk/*"])
    assert [f.path for f in found] == ["blossom/__init__.py"]


def test_what_is_linked_rides_too(tmp_path):
    package, shared = tmp_path / "blossom", tmp_path / "shared"
    package.mkdir()
    (shared / "deep").mkdir(parents=True)
    (shared / "__init__.py").write_text("")
    (shared / "deep" / "names.txt").write_text("tulip")
    (package / "__init__.py").write_text("")
    (package / "inner").symlink_to(shared)
    (package / "again").symlink_to(shared)
    found = [f.path for f in packages.files(package)]
    assert found == [
        "blossom/__init__.py",
        "blossom/again/__init__.py",
        "blossom/again/deep/names.txt",
        "blossom/inner/__init__.py",
        "blossom/inner/deep/names.txt",
    ]
    assert len(packages.files(package, ["blossom/again/*"])) == 3


@pytest.mark.parametrize("target", ["nowhere", ".", ".."])
def test_a_link_that_cannot_ride_is_refused_by_name(tmp_path, target):
    package = tmp_path / "blossom"
    package.mkdir()
    (package / "link").symlink_to(package / target if target != "nowhere" else target)
    with pytest.raises(PreflightError, match="is a broken link, or"):
        packages.files(package)
    assert packages.files(package, ["blossom/link*"]) == []


def test_a_name_that_is_not_unicode_is_refused(tmp_path):
    package = tmp_path / "blossom"
    package.mkdir()
    (package / "b\udcfc.txt").write_text("")
    with pytest.raises(PreflightError, match="not Unicode"):
        packages.files(package)


def test_a_binary_file_is_refused_with_the_way_out(tmp_path):
    package = tmp_path / "blossom"
    package.mkdir()
    (package / "weights.bin").write_bytes(bytes(range(256)))
    with pytest.raises(PreflightError, match=r"weights\.bin is binary.*kernelkit dataset"):
        packages.files(package)
