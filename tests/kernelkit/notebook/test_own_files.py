"""A notebook's own files are found by one rule, and its bundle carries them."""

import ast
import json
import subprocess
import sys

import pytest

from kernelkit.notebook.scripts import read_script
from kernelkit.project import find_project
from kernelkit.push.bundle import build
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest

ONE = "X = 1\n"


@pytest.fixture
def folder(repository):
    """The folder of the notebook, in a repository that bundles no package of its own."""
    return repository.notebook.parent


def lay(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def bundle(repository, *cells):
    repository.sources(*cells)
    return plan_push(PushRequest.of(metadata=repository.metadata)).bundle


def carried(repository, *cells):
    """The bundled paths besides those of the project's package."""
    places = bundle(repository, *cells).files.places
    return sorted(path for path in places if not path.startswith("blossom/"))


@pytest.mark.parametrize(
    "addition",
    [
        "sys.path.append('..')",
        "sys.path.insert(0, os.path.abspath('..'))",
        "sys.path.append(str(Path.cwd().parent))",
        "ROOT = Path('..').resolve()\nsys.path.append(str(ROOT))",
        "from sys import path as places\nplaces.append('..')",
        "import sys as system\nsystem.path.insert(0, '..')",
    ],
)
def test_a_package_is_found_through_what_the_code_adds_to_sys_path(repository, addition):
    lay(repository.root, {"lib/__init__.py": "", "lib/one.py": ONE})
    cells = f"import os, sys\nfrom pathlib import Path\n{addition}", "from lib.one import X"
    assert carried(repository, *cells) == ["lib/__init__.py", "lib/one.py"]


def test_a_module_adds_its_own_folder(repository, folder):
    lay(
        folder,
        {
            "kit/__init__.py": "import sys, os\nsys.path.append(os.path.dirname(__file__))\n"
            "import sibling\n",
            "kit/sibling.py": ONE,
        },
    )
    assert "sibling.py" in carried(repository, "import kit")


def test_a_folder_without_init_is_a_package_and_only_what_is_imported_travels(repository, folder):
    lay(folder, {"tools/a.py": "from tools.b import X", "tools/b.py": ONE, "tools/c.py": ONE})
    lay(folder, {"tools/photo.txt": "not Python"})
    assert carried(repository, "from tools.a import X") == ["tools/a.py", "tools/b.py"]


@pytest.mark.parametrize("cell", ["import src.models", "from src.models.deep import X"])
def test_a_package_in_a_folder_without_init_travels_whole(repository, folder, cell):
    lay(folder, {"src/models/__init__.py": "", "src/models/config.json": "{}", "src/b.py": ONE})
    lay(folder, {"src/models/deep/__init__.py": ONE, "src/models/deep/names.txt": "a"})
    assert carried(repository, cell) == [
        "src/models/__init__.py",
        "src/models/config.json",
        "src/models/deep/__init__.py",
        "src/models/deep/names.txt",
    ]


def test_a_package_in_a_folder_without_init_stays_if_a_file_of_it_is_no_text(repository, folder):
    lay(folder, {"src/models/__init__.py": "", "src/models/net.py": ONE})
    (folder / "src/models/net.bin").write_bytes(b"\xff")
    assert "net.bin is not UTF-8 text" in bundle(repository, "import src.models").files.stays["src"]
    repository.configure('leave_out = ["src/models/*.bin"]\n')
    assert carried(repository, "import src.models") == [
        "src/models/__init__.py",
        "src/models/net.py",
    ]


def test_a_module_named_like_the_standard_librarys_is_the_one_beside(repository, folder):
    lay(folder, {"profile.py": ONE, "random.py": ONE})
    # Jupyter's kernel has loaded `random` before the first cell, and keeps it.
    assert carried(repository, "import profile, random") == ["profile.py"]


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("import importlib\nimportlib.import_module('lib.one')", True),
        ("import importlib\nimportlib.import_module(f'lib.{name}')", False),
        ("__import__('lib.one')", True),
        ("!python -m lib.one --fast", True),
        ("if fast:\n    !python -u -m lib.one", True),
        ("%run -m lib.one", True),
        ("%%bash\ncd /tmp && python3 -m lib.one", True),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'lib.one'])", True),
        ("import os\nos.system('python -m lib.one')", True),
        ("import importlib.util\nimportlib.util.find_spec('lib')", False),
        ("%load_ext lib.one", True),
        ("%%html\n<!-- import lib.one -->", False),
        ("%%writefile other.txt\nimport lib.one", False),
        ("%%writefile other.py\nimport lib.one", True),
    ],
)
def test_a_module_that_no_import_statement_names(repository, folder, cell, found):
    lay(folder, {"lib/__init__.py": "", "lib/one.py": ONE})
    assert ("lib/one.py" in carried(repository, cell)) is found


@pytest.mark.parametrize(
    "cell",
    [
        "%run helper.py",
        "%run helper",
        "!python helper.py --epochs 3",
        "lines = !python helper.py",
        "!torchrun helper.py",
    ],
)
def test_a_file_that_a_cell_starts_travels_with_what_it_imports(repository, folder, cell):
    lay(folder, {"helper.py": "import beside", "beside.py": ONE})
    made = bundle(repository, cell)
    assert made.files.beside == ["helper.py"]
    assert {"helper.py", "beside.py"} <= set(made.files.places)
    assert "_beside" in made.text


def test_a_file_in_a_subfolder_imports_what_lies_beside_it(repository, folder):
    lay(
        folder,
        {"sub/helper.py": "import beside, numpy", "sub/beside.py": ONE, "sub/numpy.py": ONE},
    )
    made = bundle(repository, "!python sub/helper.py")
    assert made.files.beside == ["sub/helper.py"]
    assert {"sub/helper.py", "beside.py"} <= set(made.files.places)
    assert "numpy.py" not in made.files.places  # which the cells would get instead of the image's


@pytest.mark.parametrize(
    "cell", ["!cat agent.py", "%pycat agent.py", "%run agent.py", "!black agent.py"]
)
def test_a_file_may_be_imported_and_started(repository, folder, cell):
    lay(folder, {"agent.py": ONE})
    made = bundle(repository, cell, "from agent import X")
    assert "agent.py" in made.files.places
    assert "agent" in made.packages


def test_what_a_file_that_a_cell_writes_imports_travels_with_what_lies_here(repository, folder):
    lay(folder, {"agent.py": "old = 1\n", "lib.py": ONE})
    made = carried(repository, "%%writefile agent.py\nimport lib", "import agent")
    assert made == ["agent.py", "lib.py"]


@pytest.mark.parametrize("writes", [True, False])
def test_a_file_that_the_session_writes_wins_over_the_bundles(repository, folder, tmp_path, writes):
    lay(folder, {"agent.py": "WHO = 'the bundle'\n"})
    text = bundle(repository, "import agent").text
    session = tmp_path / "working"
    session.mkdir()
    cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    written = "open('agent.py', 'w').write(\"WHO = 'the session'\\n\")\n" if writes else ""
    own = cells.index("import agent")
    lines = [*cells[:own], written, "import agent\nprint(agent.WHO)"]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=session, capture_output=True, text=True
    )
    assert ran.stdout.splitlines()[-1] == ("the session" if writes else "the bundle"), ran.stderr


def test_a_module_where_the_rule_does_not_reach_is_named_with_its_place(repository):
    lay(repository.root, {"deep/er/far.py": ONE})
    found = bundle(repository, "import far", "import numpy").files.elsewhere
    assert found == {"far": repository.root / "deep" / "er" / "far.py"}


def test_the_check_in_the_session_imports_nothing(repository, folder):
    lay(folder, {"lib.py": ONE})
    text = bundle(repository, "import lib").text
    assert "find_spec(_name)" in text
    assert "import_module(_name)" not in text


def test_leave_out_reaches_modules_beside_the_notebook(repository, folder):
    lay(folder, {"lib/__init__.py": "", "lib/big.txt": "x"})
    (folder / "lib" / "photo.png").write_bytes(b"\x89PNG\xff")
    assert "leave_out" in bundle(repository, "import lib").files.stays["lib"]
    repository.configure('leave_out = ["lib/*.png"]\n')
    assert carried(repository, "import lib") == ["lib/__init__.py", "lib/big.txt"]


def test_a_module_outside_the_repository_is_named(repository, tmp_path):
    lay(tmp_path, {"elsewhere/far.py": ONE})
    cell = f"import sys\nsys.path.append({str(tmp_path / 'elsewhere')!r})\nimport far"
    assert "outside the repository" in bundle(repository, cell).files.stays["far"]


def test_a_script_keeps_its_docstring_first(repository):
    script = repository.notebook.with_name("job.py")
    script.write_text('"""What it does."""\nfrom __future__ import annotations\nprint(__doc__)\n')
    made = build.build(script, read_script(script), {}, find_project(script), script=True)
    assert ast.get_docstring(ast.parse(made.text)) == "What it does."
    compile(made.text, "job.py", "exec")


@pytest.mark.parametrize(
    ("module", "competitions", "stays"),
    [
        ("kaggle_evaluation", ["roses"], True),
        ("kaggle_evaluation", [], False),
        ("kaggle_secrets", [], True),
        ("kaggle_petals", ["roses"], False),
    ],
)
def test_a_copy_of_kaggles_own_module_is_not_sent_against_it(
    repository, module, competitions, stays
):
    repository.describe(competition_sources=competitions)
    (repository.notebook.parent / module).mkdir()
    (repository.notebook.parent / module / "__init__.py").touch()
    repository.sources(f"import {module}")
    bundle = repository.plan().bundle
    assert any(module in place for place in bundle.files.places) != stays
    told = [note for note in bundle.files.notes if f"the session has Kaggle's own {module}" in note]
    assert bool(told) == stays
