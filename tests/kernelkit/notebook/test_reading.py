"""One reading says what a cell or a module does."""

import sys

import pytest

from kernelkit.notebook.code.reading import Program, read
from kernelkit.notebook.code.records import NOT_LITERAL, Place


def cell(source):
    return read(source, cell=True)


def needed(source):
    return {each.top for each in cell(source).imports if not each.optional}


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from numpy.linalg import norm",
        "class A:\n    def f(self):\n        from numpy import nan",
        "if fast:\n    import numpy",
        "%matplotlib inline\n  \nimport numpy",
        "!ls /kaggle/input\nthis is no Python\nimport numpy, numpy.linalg",
        "files = !ls\nimport numpy as np  # arrays\ntext = '''\nfrom the start of it\n'''",
        "%%time\nimport numpy",
        "%time import numpy",
        "%%time\n%%capture\n!pip list\nimport numpy",
        "import importlib\nimportlib.import_module('numpy.linalg')",
        "__import__('numpy')",
    ],
)
def test_what_code_cannot_do_without_is_needed(source):
    assert needed(source) - {"importlib"} == {"numpy"}


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "try:\n    import torch\nexcept ImportError:\n    import numpy",
        "try:\n    import numpy\nexcept* ImportError:\n    pass",
        "from . import numpy",
        "%%html\n<!-- import numpy -->",
        "%%writefile a.py\nimport numpy",
        "x = '''\nimport numpy\n'''",
    ],
)
def test_what_code_can_do_without_is_not(source):
    assert "numpy" not in needed(source)


@pytest.mark.parametrize("source", ["import json\nx = '\0'", "import json\nx = " + "(" * 10**5])
def test_what_cannot_be_read_is_read_as_far_as_it_goes(source):
    assert needed(source) == {"json"}
    assert cell(source).problem.certain


def test_lines_are_counted_over_what_ipython_joins_and_removes():
    source = "\n\n!pip install a \\\n  b\nimport c\n%cd x\nimport d"
    assert [(each.name, each.line) for each in cell(source).imports] == [("c", 5), ("d", 7)]
    assert [each.line for each in cell(source).commands] == [3, 6]
    body = "\n%%time\nimport c\n!ls\nimport d"
    assert [(each.name, each.line) for each in cell(body).imports] == [("c", 3), ("d", 5)]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("  \n\n!ls\nimport a b", 4),
        ("x = 1\ry = (\r", 2),
        ("x = 1\r\ny = (\r\n", 2),
        ("!ls\rx = (\r", 2),
    ],
)
def test_a_problem_has_the_line_that_the_author_sees(source, line):
    assert cell(source).problem.line == line


def test_automagic_has_the_line_that_the_author_sees():
    (command,) = cell("\n \ncd foo\n").commands
    assert (command.words, command.line) == (("cd", "foo"), 3)


@pytest.mark.parametrize(("end", "line"), [("\n", 3), ("\r", 3), ("\x0c", 2), ("\u2028", 2)])
def test_imports_of_what_is_not_python_have_their_lines(end, line):
    (found,) = read(f"# a{end}b\nimport c\ny = (", cell=False).imports
    assert found.line == line


def test_relative_imports_start_from_the_package():
    found = read("from . import x\nfrom ..a import b\nfrom .... import c", cell=False).imports
    assert [each.absolute("kit.deep") for each in found] == ["kit.deep.x", "kit.a.b", ""]


@pytest.mark.parametrize(
    "source",
    [
        "importlib.import_module(name)",
        "importlib.import_module(f'lib.{name}')",
        "__import__('lib.' + name)",
    ],
)
def test_a_name_that_is_no_literal_is_not_followed(source):
    assert cell(source).loads_by_name
    assert not cell(source).imports


def test_a_literal_name_is_followed():
    assert not cell("import_module('a.b')").loads_by_name


@pytest.mark.parametrize(
    ("source", "module", "file"),
    [
        ("!python -m lib.one --fast", "lib.one", ""),
        ("if fast:\n    !python -u -m lib.one", "lib.one", ""),
        ("%run -m lib.one", "lib.one", ""),
        ("%%bash\ntrue && python3 -m lib.one", "lib.one", ""),
        (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'lib.one'])",
            "lib.one",
            "",
        ),
        ("command = [sys.executable, '-m', 'lib.one']", "lib.one", ""),
        ("import os\nos.system('python -m lib.one')", "lib.one", ""),
        ("%load_ext lib.one", "lib.one", ""),
        ("%run helper", "", "helper.py"),
        ("%run helper.py --epochs 3", "", "helper.py"),
        ("lines = !python helper.py", "", "helper.py"),
        ("!torchrun helper.py", "", "helper.py"),
        ("run helper.py", "", "helper.py"),
    ],
)
def test_what_a_cell_starts(source, module, file):
    assert (module, file) in {(each.module, each.file) for each in cell(source).starts}


@pytest.mark.parametrize(
    ("source", "path", "by_file"),
    [
        ("sys.path.append('..')", "..", False),
        ("sys.path.insert(0, os.path.abspath('..'))", "..", False),
        ("sys.path.append(str(Path.cwd().parent))", "..", False),
        ("ROOT = Path('..').resolve()\nsys.path.append(str(ROOT))", "..", False),
        ("from sys import path as places\nplaces.append('..')", "..", False),
        ("import sys as system\nsystem.path.insert(0, '..')", "..", False),
        ("sys.path.append(os.path.join(os.getcwd(), '..', 'lib'))", "../lib", False),
        ("sys.path.append(os.path.dirname(__file__))", ".", True),
        ("sys.path.insert(0, str(Path(__file__).parents[1] / 'src'))", "../src", True),
        ("for place in places:\n    sys.path.append(place)", None, False),
        ("sys.path.append(f'{root}/lib')", None, False),
    ],
)
def test_what_code_adds_to_the_search_path(source, path, by_file):
    (folder,) = cell(source).folders
    assert folder == (Place(by_file, path) if path else None)


@pytest.mark.parametrize("source", ["!run helper", "%%bash\nrun helper", "!load_ext lib.one"])
def test_a_command_of_the_name_of_a_magic_is_none(source):
    assert not cell(source).starts


def test_another_list_is_no_search_path():
    assert not cell("path.append('..')\nos.path.append('..')").folders


def test_calls_have_full_names_in_whatever_cell_the_import_stands():
    program = Program.of(
        [
            ("1", "import keras, pandas as pd\nfrom transformers import AutoModel as Model"),
            ("2", "keras.applications.EfficientNetB0(weights='imagenet')"),
            ("3", "if fast:\n    Model.from_pretrained('a', revision=name)"),
            ("4", "def load():\n    return pd.read_csv('https://example.org/a.csv')"),
        ],
        cells=True,
    )
    found = {call.name: (place, call) for place, call in program.calls}
    place, call = found["keras.applications.EfficientNetB0"]
    assert (place, call.keywords, call.guarded) == ("2", {"weights": "imagenet"}, False)
    _, call = found["transformers.AutoModel.from_pretrained"]
    assert call.argument(0, "name") == "a"
    assert call.argument(1, "revision") is NOT_LITERAL
    assert call.guarded
    _, call = found["pandas.read_csv"]
    assert call.arguments == ("https://example.org/a.csv",)


def test_commands_are_words_wherever_they_stand():
    source = (
        "!pip install -q 'a[b]>=1' # c\n"
        "%pip install d\n"
        "if x:\n    !wget e && tar xf e.tar\n"
        "import subprocess\n"
        "subprocess.check_call(['pip', 'install', f])\n"
        "os.system(f'unzip {g}')"
    )
    found = [(each.words, each.line, each.guarded) for each in cell(source).commands]
    assert found == [
        (("pip", "install", "-q", "a[b]>=1"), 1, False),
        (("pip", "install", "d"), 2, False),
        (("wget", "e"), 4, True),
        (("tar", "xf", "e.tar"), 4, True),
        (("pip", "install", "{}"), 6, False),
        (("unzip", "{}"), 7, False),
    ]


def test_what_stands_between_commands_is_a_part_of_a_quoted_word():
    source = """!pip install "a>=1; python_version<'4'" && curl 'http://x?b=1&c=2'"""
    assert [each.words for each in cell(source).commands] == [
        ("pip", "install", "a>=1; python_version<'4'"),
        ("curl", "http://x?b=1&c=2"),
    ]
    (unclosed,) = cell("!echo it's; ls").commands
    assert unclosed.words == ("echo", "it's;", "ls")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("!pip install git+https://example.org/a#egg=a", "git+https://example.org/a#egg=a"),
        ("%pip install git+https://example.org/a#egg=a # b", "git+https://example.org/a#egg=a"),
        ("!plot --color=#fff # red", "--color=#fff"),
        ("!plot 'a'#b", "a#b"),
        ("!plot '#fff'", "#fff"),
        ("!plot 'a #b' # c", "a #b"),
    ],
)
def test_a_comment_of_a_shell_begins_at_the_beginning_of_a_word(line, word):
    (command,) = cell(line).commands
    assert command.words[-1] == word


def test_a_word_with_a_hash_does_not_hide_the_commands_after_it():
    found = cell("!pip install git+https://example.org/a#egg=a && python train.py\n!ls;# b")
    assert [start.file for start in found.starts] == ["train.py"]
    assert [each.words for each in found.commands][-1] == ("ls",)


@pytest.mark.parametrize("source", ["# pip install a", "print('unzip it')", "'''\n!wget x\n'''"])
def test_a_comment_or_a_text_is_no_command(source):
    assert not cell(source).commands


def test_variables_of_the_environment():
    source = (
        "os.environ['A'] = 'a'\nos.environ.setdefault('B', 'b')\n%env C=c\n%set_env D d\n"
        "os.environ['G'] = str(1)"
    )
    found = {each.name: each.value for each in cell(source).environment}
    assert found == {"A": "a", "B": "b", "C": "c", "D": "d", "G": None}


def test_only_the_cell_magic_writes_a_file():
    written = cell("%%writefile -a sub/a.py\nx = 1\n").writes
    assert [(each.path, each.text) for each in written] == [("sub/a.py", "x = 1\n")]
    assert not cell("open('a.py', 'w').write('x')\n!echo x > a.py").writes


def names(source):
    reads, sets = set(), set()
    for statement in cell(source).statements:
        reads |= statement.reads
        sets |= statement.sets
    return reads, sets


@pytest.mark.parametrize(
    "source",
    [
        "print(rate)",
        "!train --rate $rate",
        "!train --rate {rate}",
        "%run train.py --rate $rate",
        "print(f'{rate}')",
        "%%bash -s $rate\ntrain $1",
        "%time fit(rate)",
        "%%time\nfit(rate)",
        "rate += 1",
        "def f(a=rate): pass",
        "def f(*a: rate, **b): pass",
        "def f():\n    return rate",
    ],
)
def test_names_count_as_read_wherever_they_stand(source):
    assert "rate" in names(source)[0]


@pytest.mark.parametrize("source", ["g = globals()", "exec(text)", "import __main__", "%run a"])
def test_code_that_may_read_every_name_says_so(source):
    assert "*" in names(source)[0]


@pytest.mark.parametrize(
    ("source", "is_certain"),
    [
        ("rate = 1", True),
        ("rate, x = 1, 2", True),
        ("rate: float = 1", True),
        ("%%time\nrate = 1", True),
        ("with open(x) as f:\n    rate = 1", False),
        ("%%timeit\nrate = 1", False),
        ("if x:\n    rate = 1", False),
        ("for rate in x: pass", False),
        ("def f():\n    rate = 1", False),
        ("rate: float", False),
        ("rate[0] = 1", False),
    ],
)
def test_only_what_certainly_sets_a_name_does(source, is_certain):
    assert ("rate" in names(source)[1]) is is_certain


NEWER = ["f'{a['b']}'", "type Rows = list[int]", "def f[T](x: T): return x", "class A[T]: pass"]


@pytest.mark.parametrize("source", NEWER)
def test_what_a_sessions_python_may_read_is_a_guess(source):
    problem = cell(source).problem
    assert problem is None or not problem.certain
    if problem:
        version = f"Python 3.{sys.version_info.minor} here cannot read n.ipynb[cell 1], line 1"
        assert version in problem.at("n.ipynb[cell 1]")


def test_the_newest_python_is_advised_where_this_one_may_be_too_old(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    text = cell('y = 1\nprint(f"hi"').problem.at("n.ipynb[cell 1]")
    assert text.startswith("Python 3.12 here cannot read n.ipynb[cell 1], line 2")
    assert text.endswith("Install kernelkit under Python 3.13 to have it checked")


@pytest.mark.parametrize(
    "source",
    [f"x = {'-' * 100_000}1", "x = a" + " / b" * 900],
    ids=["signs", "quotients"],
)
def test_what_is_nested_too_deeply_is_a_guess(source):
    problem = cell(source).problem
    assert (problem.line, problem.certain) == (0, False)
    assert problem.at("cell 1").endswith("a session may: it is nested too deeply")


@pytest.mark.parametrize("source", ["print 'x'", "x = = 1", "!ls\nx = ("])
def test_what_no_python_reads_is_certain(source):
    problem = cell(source).problem
    assert problem.certain
    assert problem.at("n.ipynb[cell 1]").startswith("n.ipynb[cell 1], line ")


@pytest.mark.parametrize(
    "source", ["pip install a", "cd ..", "ls (a)", "  x = 1\n  y = 2", "await x", "numpy?", "ls"]
)
def test_what_ipython_reads_is_no_problem(source):
    assert cell(source).problem is None


def test_a_module_is_no_cell():
    assert read("!ls", cell=False).problem.certain
    assert read("await x", cell=False).problem.certain
    assert cell("x = 1\nfrom __future__ import annotations").problem is None
    assert read("x = 1\nfrom __future__ import annotations", cell=False).problem.certain


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (["x = 'a'", "f(x)"], "a"),
        (["def g():\n    f(x)", "x = 2"], 2),
        (["x: str = 'a'", "f(x)"], "a"),
        (["x = 'a'", "x = 'b'", "f(x)"], NOT_LITERAL),
        (["for x in ['a']:\n    f(x)"], NOT_LITERAL),
        (["x = 'a'\ndef g(x):\n    f(x)"], NOT_LITERAL),
        (["x, y = 'a', 'b'", "f(x)"], NOT_LITERAL),
        (["x = 'a'", "x += 'b'", "f(x)"], NOT_LITERAL),
        (["f(x)"], NOT_LITERAL),
    ],
)
def test_an_argument_is_what_its_name_is_set_to_if_that_happens_once(cells, value):
    (call,) = Program.of(enumerate(cells), cells=True).calls
    assert call[1].arguments == (value,)


def test_long_code_is_read():
    assert "x" in names("y = " + " + ".join(["x"] * 900))[0]
    assert cell("a" + ".f()" * 900) is not None


def test_statements_of_a_cell_are_compiled_one_by_one():
    late = "import os\nfrom __future__ import annotations\ndef f(x: Undefined): return x\n"
    assert cell(late).problem is None
    assert read(late, cell=False).problem.certain
    assert cell("x = 1\nreturn x").problem.certain
    assert "null bytes" in cell("x = 'a\0b'").problem.at("n.ipynb[cell 1]")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("%%time\nx = 1\ny = (\n", 3),
        ("%%capture output\nfor x in y\n    pass\n", 2),
        ("\n%%time\n\nif x:\nprint(x)\n", 5),
        ("%%time\n%%capture\n%matplotlib inline\nx = = 2\n", 4),
        ("%%timeit -n 3 x = 2\nx +\n", 2),
    ],
)
def test_the_python_below_a_cell_magic_is_read(source, line):
    problem = cell(source).problem
    assert (problem.line, problem.certain) == (line, True)


@pytest.mark.parametrize(
    "source",
    [
        "%%time\n",
        "%%time",
        "%%capture output\nfiles = !ls\n%matplotlib inline\nawait x\n",
        "%%time\n    indented = 1\n",
        "%%time\nls -l\n",
        "%%time\n%%bash\nfor x in y; do echo; done\n",
        '%%time\nx = """\n%%bash\n"""\n',
        "%%bash\nif [ -f x ]; then\n",
        "%%writefile x.py\nx = = 2\n",
    ],
)
def test_a_cell_magic_over_what_ipython_runs_is_no_error(source):
    assert cell(source).problem is None


@pytest.mark.parametrize("source", ["  x = 1\ny = 2\n", "\n\t%env x=1\n\ty = 2\nx = 1\n"])
def test_a_cell_may_begin_with_an_indentation_that_other_lines_lack(source):
    assert cell(source).problem is None


def test_a_cell_magic_may_be_indented():
    assert cell(" %%writefile a.py\nx = 1\n").writes == [("a.py", "x = 1\n")]


@pytest.mark.parametrize(
    ("source", "guarded"),
    [
        ("for row in fetch():\n    pass", False),
        ("if fetch():\n    pass", False),
        ("while not fetch():\n    pass", False),
        ("a = fetch() or 1", False),
        ("match fetch():\n    case 1: pass", False),
        ("for row in rows:\n    fetch()", True),
        ("for row in rows:\n    pass\nelse:\n    fetch()", True),
        ("if a:\n    for row in fetch():\n        pass", True),
        ("a = 1 or fetch()", True),
        ("try:\n    for row in fetch():\n        pass\nexcept OSError: pass", True),
    ],
)
def test_what_a_condition_tests_or_a_loop_goes_through_is_not_guarded(source, guarded):
    (call,) = cell(source).calls
    assert call.guarded == guarded


@pytest.mark.parametrize(
    ("call", "name"),
    [("exit()", "exit"), ("if done:\n    quit()", "quit"), ("def stop():\n    exit(1)", "exit")],
)
def test_what_seems_to_end_a_notebook_is_named(call, name):
    assert Program.of([("cell 2", call)], cells=True).exits == (("cell 2", name),)


@pytest.mark.parametrize(
    "call", ["import sys\nsys.exit()", "from sys import exit\nexit()", "app.exit()"]
)
def test_what_ends_it_is_not(call):
    assert Program.of([("cell 2", call)], cells=True).exits == ()
