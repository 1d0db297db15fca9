"""A bundle needs nothing but itself, says what it is, and is the same each time."""

import hashlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace

import nbformat
import pytest
from checkouts import git

from kernelkit import errors, project
from kernelkit.notebook.document import read_json
from kernelkit.notebook.interface.values import assignments
from kernelkit.push.bundle import build as build_module
from kernelkit.push.bundle.number import number_of, stamped
from kernelkit.session.manifest import MANIFEST
from kernelkit.session.places import FOLDER, MACHINE


def build(repository, minutes=None, **parameters):
    here = project.find_project(repository.root)
    return built(repository.notebook, parameters, here, minutes)


def built(notebook, *arguments, **options):
    return build_module.build(notebook, read_json(notebook), *arguments, **options)


def run(text, folder, **environment):
    """Run a bundle's code cells in a bare Python; what it printed."""
    cells = [c["source"] for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
    folder.mkdir()
    (folder / "script.py").write_text("\n\n".join(cells))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "script.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": os.defpath} | environment,
    )
    return done.stdout + done.stderr


def test_the_same_input_gives_the_same_bytes(repository):
    first = build(repository, files=2)
    assert build(repository, files=2).text == first.text
    notebook = json.loads(first.text)  # with sources as nbformat writes them
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    notebook = json.dumps(notebook)
    assert number_of(stamped(notebook, PUSH)) == PUSH
    assert build(repository, files=4).content != first.content


def commit(repository):
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "seed"]):
        git(repository.root, *words)


def test_the_first_cell_tells_the_commit(repository):
    before = build(repository)
    commit(repository)
    clean = build(repository)
    assert build(repository).text == clean.text
    (repository.package / "__init__.py").write_text("x = 1\n")
    dirty = build(repository)

    assert len(clean.commit.sha) == 40
    assert not clean.commit.dirty
    assert dirty.commit.dirty
    assert f"'KERNELKIT_GIT_SHA': '{clean.commit.sha}'" in clean.text
    assert "'KERNELKIT_GIT_DIRTY': 'false'" in clean.text
    assert "'KERNELKIT_GIT_DIRTY': 'true'" in dirty.text
    assert "KERNELKIT_GIT_SHA" not in before.text
    assert clean.commit.sha in json.loads(clean.text)["cells"][0]["source"]


def test_only_what_runs_changes_the_content(repository):
    before = build(repository)
    commit(repository)
    clean = build(repository)
    (repository.package / "unused.py").write_text("x = 1\n")
    beside = build(repository)
    (repository.package / "__init__.py").write_text("x = 1\n")
    assert clean.content == before.content == beside.content != build(repository).content


SESSION = "import json\nprint(json.dumps([BUNDLE, dict(os.environ), time.monotonic()]))"


@pytest.mark.parametrize(
    ("ignored", "dirty"),
    [("petals.py", True), ("*.ipynb", True), ("*.txt", True), ("*.pyc", False)],
)
def test_a_bundled_file_that_git_ignores_counts_as_a_change(repository, ignored, dirty):
    (repository.root / ".gitignore").write_text(ignored)
    for name in ("petals.pyc", "a Blüte.txt"):
        (repository.package / name).touch()
    commit(repository)
    assert build(repository).commit.dirty == dirty


def test_a_generated_notebook_and_an_installed_kit_are_no_change(repository):
    commit(repository)
    generated = repository.root / "runs" / "sweep.ipynb"
    generated.parent.mkdir()
    generated.write_text(repository.notebook.read_text())
    here = project.find_project(repository.root)
    here = replace(here, packages=(*here.packages, "kernelkit"), swept_notebook=repository.notebook)

    assert not built(generated, {}, here).commit.dirty
    repository.notebook.write_text(repository.notebook.read_text() + "\n")
    assert built(generated, {}, here).commit.dirty


@pytest.mark.parametrize("minutes", [42.5, None])
def test_a_session_knows_what_it_runs_how_long_it_lasts_and_when_it_began(
    repository, tmp_path, minutes
):
    repository.sources(SESSION)
    bundle = build(repository, minutes, files=7)
    output = run(bundle.text, tmp_path / "working", KERNELKIT_PROJECT_VERSION="another")
    facts, environment, now = json.loads(output.splitlines()[-1])
    known = {
        "packages": ["blossom"],
        "version": "1.2",
        "parameters": {"files": 7},
        "git": {"commit": "", "dirty": True},
        "content": f"sha256:{bundle.content}",
    }
    assert facts | known == facts
    assert environment["KERNELKIT_PROJECT_VERSION"] == "1.2"
    assert environment.get("KERNELKIT_SESSION_MINUTES") == (minutes and str(minutes))
    assert 0 <= now - float(environment["KERNELKIT_SESSION_BEGAN"]) < 60


def test_it_runs_where_the_package_is_not_installed_with_files_of_any_name(repository, tmp_path):
    names = ['a"b', "a'b", "a\\b", "a\nb", "a\tb", "%a b", "{a}", "🌸"]
    for name in names:
        (repository.package / f"{name}.txt").write_text(name)
    repository.sources(
        "import json, pathlib, blossom\n"
        "folder = pathlib.Path(blossom.__file__).parent\n"
        "texts = {path.stem: path.read_text() for path in folder.glob('*.txt')}\n"
        "print(json.dumps([str(folder), texts]))"
    )
    working = tmp_path / "working"
    place, texts = json.loads(run(build(repository).text, working, PYTHONUTF8="1").split("\n")[-2])
    assert texts == {name: name for name in names}
    assert place.endswith("/blossom")
    assert str(working) not in place
    assert [p.name for p in working.iterdir()] == ["script.py"]


@pytest.mark.parametrize(
    "cell",
    [
        None,
        {},
        {"cell_type": "code", "source": [1]},
        {"cell_type": "poem", "source": "x"},
        {"cell_type": "code", "source": "'\ud83c'"},
    ],
)
def test_what_is_no_notebook_is_named(repository, notebook_code, cell):
    repository.cells(notebook_code("1"), cell)
    with pytest.raises(errors.NotebookError, match="is not a notebook: cell 2"):
        build(repository)
    repository.notebook.write_text('{"nbformat": 3}')
    with pytest.raises(errors.NotebookError, match=r"train\.ipynb is not"):
        build(repository)


def test_nothing_of_this_machine_rides_along(repository, notebook_code):
    outputs = [{"output_type": "stream", "text": "/home/me"}]
    cell = notebook_code("print(1)") | {"execution_count": 3, "outputs": outputs}
    repository.cells(cell, kaggle={"accelerator": "gpu"}, widgets={"x": 1})

    text = build(repository).text

    assert set(json.loads(text)["metadata"]) == {"kernelspec", "language_info"}
    assert "/home/me" not in text
    assert str(repository.root) not in text


def test_parameters_stand_right_after_theirs_as_papermill_would_put_them(repository):
    cells = json.loads(build(repository, files=2, fail=True).text)["cells"]
    tags = [cell["metadata"].get("tags", []) for cell in cells]
    place = tags.index(["parameters"])
    assert tags[place + 1] == ["injected-parameters"]
    assert cells[place + 1]["source"] == "# Parameters\nfiles = 2\nfail = True"


def test_what_is_not_finite_can_be_a_parameter(repository):
    assert "1e309" in assignments({"patience": float("inf")})
    assert build(repository, patience=float("inf"))


def test_every_cell_has_an_id_and_the_files_of_a_folder_are_one_folded_cell(repository, tmp_path):
    (repository.package / "leaves").mkdir()
    for name in ("__init__", "one", "two"):
        (repository.package / "leaves" / f"{name}.py").write_text(f"NAME = {name!r}\n")
    (repository.package / "__init__.py").write_text("from blossom.leaves import one, two\n")

    text = build(repository).text
    nbformat.validate(nbformat.reads(text, as_version=4))
    cells = json.loads(text)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    carried = [c for c in cells if "_carry(\n" in c["source"]]
    assert [c["source"].split("\n")[0] for c in carried] == ["# blossom", "# blossom/leaves"]
    assert [c["source"].count("_carry(\n") for c in carried] == [2, 3]
    assert carried[0]["metadata"]["jupyter"] == {"source_hidden": True}
    assert "one.py is not what was pushed" in run(
        text.replace("NAME = 'one'", "NAME = 'ten'"), tmp_path / "edited"
    )


def test_a_module_beside_the_notebook_rides_with_what_it_imports(repository, tmp_path):
    folder = repository.notebook.parent
    (folder / "tables.py").write_text("from readers import rows\nsize = len(rows)\n")
    (folder / "readers").mkdir()
    (folder / "readers/__init__.py").write_text("rows = [1, 2]\n")
    (folder / "unused.py").write_text("")
    (folder / "json.py").write_text("raise RuntimeError\n")
    repository.sources("import json\nfrom tables import *\nprint('rows:', size)\n")
    bundle = build(repository)
    assert set(bundle.packages) == {"blossom", "tables", "readers"}
    assert "rows: 2" in run(bundle.text, tmp_path / "working")
    (folder / "tables.py").write_text("size = 3\n")
    assert build(repository).content != bundle.content


def test_a_sweeps_notebook_takes_the_modules_beside_the_one_that_it_runs(repository, tmp_path):
    (repository.notebook.parent / "tables.py").write_text("SIZE = 3\n")
    repository.sources("import tables\n")
    other = tmp_path / "sweep.ipynb"
    other.write_text(repository.notebook.read_text().replace("import tables", "print(1)"))
    here = replace(project.find_project(repository.root), swept_notebook=repository.notebook)
    assert "tables" in built(other, {}, here).packages


def test_the_kit_itself_rides_compressed(repository, tmp_path):
    here = project.find_project(repository.root)
    here = replace(here, packages=(*here.packages, "kernelkit"))
    repository.sources(
        "from kernelkit import errors\nprint('code:', errors.PreflightError.exit_code)\n"
    )

    text = built(repository.notebook, {}, here).text

    assert "class PreflightError" not in text
    assert f"code: {errors.PreflightError.exit_code}" in run(text, tmp_path / "session")


PUSH = "0123456789abcdef"


@pytest.mark.parametrize(("last", "complete"), [("files", True), ("1 / 0", False)])
def test_a_session_leaves_a_manifest_of_its_files(repository, tmp_path, last, complete):
    leave = "import pathlib\nfiles = pathlib.Path('deep')\nfiles.mkdir()"
    write = "(files / 'a.bin').write_bytes(b'petals')\nMANIFEST = 'my own'"
    reset = "del hashlib, write_manifest, begin"  # as %reset does
    repository.sources(leave, write, reset, last)
    run(stamped(build(repository).text, PUSH), tmp_path / "session")
    written = json.loads((tmp_path / "session" / MANIFEST).read_text())
    files = {file["name"]: file for file in written["files"]}
    facts = {"push": PUSH, "complete": complete, "python": platform.python_version()}
    assert written.items() >= facts.items()
    sha256 = hashlib.sha256(b"petals").hexdigest()
    assert files["deep/a.bin"] == {"name": "deep/a.bin", "size": 6, "sha256": sha256}
    assert MANIFEST not in files


def test_a_bundle_that_was_not_pushed_and_a_hidden_rerun_leave_no_manifest(repository, tmp_path):
    text = build(repository).text
    run(text, tmp_path / "desk")
    run(stamped(text, PUSH), tmp_path / "rerun", KAGGLE_IS_COMPETITION_RERUN="1")
    assert not [*tmp_path.glob(f"*/{MANIFEST}")]


def test_a_session_of_an_accelerator_tells_whether_it_is_used_and_no_other_does(
    repository, tmp_path
):
    here = project.find_project(repository.root)
    texts = {}
    for kind in ("tpu", "cpu"):
        bundle = built(repository.notebook, {}, here, accelerator=kind)
        texts[kind] = stamped(bundle.text, PUSH)
    run(texts["tpu"], tmp_path / "tpu")
    run(texts["cpu"], tmp_path / "cpu")
    run(texts["tpu"], tmp_path / "rehearsal", LOCAL_KAGGLE_SESSION="1")
    run(texts["tpu"], tmp_path / "rerun", KAGGLE_IS_COMPETITION_RERUN="1")

    told = [path.parent.parent.name for path in tmp_path.glob(f"*/{FOLDER}/{MACHINE}")]
    assert told == ["tpu"]
    assert not (tmp_path / "rerun" / FOLDER).exists()
    written = json.loads((tmp_path / "tpu" / MANIFEST).read_text())
    assert f"{FOLDER}/{MACHINE}" in [file["name"] for file in written["files"]]
