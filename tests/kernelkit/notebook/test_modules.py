"""A file comes out of its cell byte for byte, whatever it holds."""

import itertools
import random

import pytest

from kernelkit.errors import PreflightError
from kernelkit.notebook.document import literal
from kernelkit.notebook.files import modules

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
    "x = 1\n    \n\t\ny = r'\\d'\n  \n",
    "\\'''\n",
]


def test_any_text_survives():
    draw = random.Random(0)
    alphabet = "\\'\"\n\r\t abc#{}%!?\x0c\x85\u2028é"
    for length in range(100):
        text = "".join(draw.choices(alphabet, k=length))
        assert eval(literal(text)) == text


def test_quotes_at_the_end_of_a_text_with_a_blank_line_survive():
    for length in range(6):
        for characters in itertools.product("'\"\\ \n", repeat=length):
            text = "".join(characters)
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


@pytest.fixture
def package(tmp_path):
    """Lays out a package of these files, all empty; returns its folder."""

    def package(*names):
        folder = tmp_path / "blossom"
        for name in ("__init__.py", *names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        return folder

    return package


def paths(folder, leave_out=()):
    files = modules.package_files(folder, leave_out)
    return [file.path.removeprefix("blossom/") for file in files]


def test_data_files_ride_and_caches_do_not(package):
    folder = package("inner/names.json", "inner/__pycache__/x.cpython-311.pyc")
    (folder / "inner" / "names.json").write_bytes('["Blüte"]\r\n'.encode())
    assert paths(folder) == ["__init__.py", "inner/names.json"]
    assert modules.package_files(folder, ())[1].text == '["Blüte"]\r\n'


def test_what_is_linked_rides_too(package, tmp_path):
    folder = package("../shared/__init__.py", "../shared/deep/names.txt")
    for name in ("inner", "again"):
        (folder / name).symlink_to(tmp_path / "shared")
    inner = ["__init__.py", "inner/__init__.py", "inner/deep/names.txt"]
    assert paths(folder, ["blossom/again/*"]) == inner
    assert len(paths(folder)) == 5


@pytest.mark.parametrize("target", ["nowhere", ".", ".."])
def test_a_link_that_cannot_ride_is_refused_by_name(package, target):
    folder = package()
    (folder / "link").symlink_to(folder / target)
    with pytest.raises(PreflightError, match="is a broken link, or"):
        modules.package_files(folder, ())
    assert paths(folder, ["blossom/link*"]) == ["__init__.py"]


def test_a_name_that_is_not_unicode_is_refused(package):
    with pytest.raises(PreflightError, match="not Unicode"):
        modules.package_files(package("b\udcfc.txt"), ())


def test_a_byte_order_mark_hides_no_import(package):
    (package() / "__init__.py").write_bytes(b"\xef\xbb\xbfimport numpy\n")
    assert modules.package_files(package(), ())[0].text == "import numpy\n"


def test_a_binary_file_is_refused_with_the_way_out(package):
    (package() / "weights.bin").write_bytes(bytes(range(256)))
    with pytest.raises(PreflightError, match=r"weights\.bin is not UTF-8.*kernelkit upload"):
        modules.package_files(package(), ())
