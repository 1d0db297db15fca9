"""Kernels of one repository that read what others of it left, rehearsed on one local Kaggle."""

import io
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from checkouts import git
from click.testing import CliRunner

from kernelkit.cli.console import main
from kernelkit.errors import PreflightError, RefusedError, RunFailedError
from kernelkit.kaggle.uploading.uploads import upload_dataset
from kernelkit.push import push_kernel as push_module
from kernelkit.push.known.ledger import Ledger
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push_kernel
from kernelkit.push.rehearsed import prepare_rehearsal
from kernelkit.terminal import events

READ = """\
import os, pathlib
inputs = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]) / "notebooks"
text = "".join((inputs / place / "out.txt").read_text() for place in {places!r})
"""
WRITE = "import pathlib\npathlib.Path('out.txt').write_text(text + {letter!r})\n"


class Kernels:
    """A git repository with a folder for each kernel."""

    def __init__(self, root, run):
        self.root, self._run = root, run
        root.mkdir()
        git(root, "init", "-q")

    def write(self, letter, *needs, owner="INSERT_USERNAME", code="", **metadata):
        """Write the kernel `OWNER/letter-LETTER`, which reads `needs` ("owner/slug") as mounted."""
        folder = self.root / letter
        folder.mkdir(exist_ok=True)
        places = [need.replace("INSERT_USERNAME", "tester") for need in needs]
        cells = [code, READ.format(places=places), WRITE.format(letter=letter)]
        (folder / "nb.py").write_text("".join(f"# %%\n{each}\n" for each in cells))
        values = {
            "id": f"{owner}/letter-{letter}",
            "title": f"Letter {letter}",
            "code_file": "nb.py",
            "language": "python",
            "kernel_type": "notebook",
            "is_private": True,
            "enable_internet": False,
            "kernel_sources": list(needs),
        }
        (folder / "kernel-metadata.json").write_text(json.dumps(values | metadata))

    def rehearse(self, letter, **options):
        """Rehearse in a kernel's folder; returns the text that its run wrote."""
        metadata = self.root / letter / "kernel-metadata.json"
        folder = self._run(push_kernel, metadata=metadata, **{"local": True} | options)
        return (folder / "out.txt").read_text() if folder else ""


@pytest.fixture
def kernels(tmp_path, repository, quick_sessions):
    return Kernels(tmp_path / "kernels", repository.run)


def test_folders_that_are_projects_of_their_own_share_the_repositorys_kaggle(kernels):
    kernels.write("a")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    for letter in "ab":
        (kernels.root / letter / "pyproject.toml").touch()
        kernels.rehearse(letter)
    assert sorted(path.name for path in (kernels.root / "runs").iterdir()) == ["local_kaggle"]
    assert (kernels.root / "b/runs/rehearsal-letter-b-v1/out.txt").read_text() == "ab"
    asked = ("status", "--porcelain", "--untracked-files=all", "runs")
    assert git(kernels.root, *asked) == ""  # it holds keys, and data


SEEDS = """\
import os, pathlib
seeds = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"], "datasets/gardener/seed-list")
assert (seeds / "x.txt").read_text() == "x"
"""


def test_ones_own_sources_are_found_and_mounted_under_the_accounts_own_name(kernels, repository):
    own = {"owner": "gardener", "code": SEEDS, "dataset_sources": ["gardener/seed-list"]}
    kernels.write("a", owner="gardener")
    kernels.write("b", "gardener/letter-a", **own)
    kernels.write("c", "gardener/letter-a")
    (kernels.root / "seeds").mkdir()
    (kernels.root / "seeds/x.txt").write_text("x")
    runs = kernels.root / "runs"
    repository.run(upload_dataset, kernels.root / "seeds", "seed-list", local=True, runs=runs)
    kernels.rehearse("a")
    assert kernels.rehearse("b") == "ab"
    assert kernels.rehearse("c") == "ac"


def test_outputs_of_kernels_elsewhere_come_from_the_catalogue(kernels):
    kernels.write("b", "gardener/letter-z", "someone/letter-y", owner="gardener")
    with pytest.raises(PreflightError, match="input/notebooks/gardener/letter-z"):
        kernels.rehearse("b")
    for name in ("gardener/letter-z", "someone/letter-y"):
        folder = kernels.root / "runs/local_kaggle/catalogue/kernels" / name
        folder.mkdir(parents=True)
        (folder / "out.txt").write_text(name[-1])
    assert kernels.rehearse("b", chain=True) == "zyb"


def test_a_source_that_is_nowhere_is_told_with_its_place_in_the_input_folder(kernels):
    model = "google/gemma/keras/2b/1"
    kernels.write("a", "someone/letter-y", dataset_sources=["some/seeds"], model_sources=[model])
    places = (
        f"input/datasets/some/seeds and input/notebooks/someone/letter-y and input/models/{model}"
    )
    with pytest.raises(RefusedError, match=places):
        kernels.rehearse("a")


@pytest.fixture
def chained(kernels):
    """Kernels of which c needs b and b needs a."""
    kernels.write("a")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    kernels.write("c", "INSERT_USERNAME/letter-b")
    return kernels


def pushes(kernels):
    """The references of all that was rehearsed, and how it ended."""
    ledger = Ledger(kernels.root / "runs").pushes()
    return [f"{push.reference.removeprefix('tester/letter-')} {push.state}" for push in ledger]


@pytest.mark.long
def test_a_chain_runs_what_a_kernel_needs_first_and_skips_what_is_up_to_date(chained, repository):
    assert chained.rehearse("c", chain=True) == "abc"
    assert pushes(chained) == ["a/1 complete", "b/1 complete", "c/1 complete"]
    assert repository.message.count("--chain  # on Kaggle") == 1

    assert chained.rehearse("c", chain=True) == "abc"
    assert len(pushes(chained)) == 3

    chained.write("b", "INSERT_USERNAME/letter-a", code="print('changed')")
    assert chained.rehearse("c", chain=True) == "abc"
    assert pushes(chained)[3:] == ["b/2 complete", "c/2 complete"]

    assert chained.rehearse("b", chain=True, force=True) == "ab"
    assert pushes(chained)[5:] == ["a/2 complete", "b/3 complete"]


@pytest.mark.long
def test_a_kernel_that_fails_ends_the_chain_with_its_exit_code(chained, repository):
    chained.rehearse("c", chain=True)
    chained.write("a", code="raise MemoryError('too small')")
    with pytest.raises(RunFailedError, match="too small"):
        chained.rehearse("c", chain=True)
    assert pushes(chained)[3:] == ["a/2 failed"]
    assert "the chain ends with letter-a" in repository.message

    chained.write("a")
    assert chained.rehearse("c", chain=True) == "abc"
    assert len(pushes(chained)) == 4  # what it had left before still holds


@pytest.mark.parametrize("known_as", ["failed", "nothing"])
def test_a_result_in_whose_place_kaggle_attaches_another_is_not_skipped(chained, known_as):
    """A version on another machine than was asked for has failed; the ledger knows no edit."""
    ledger = Ledger(chained.root / "runs", rehearsal=True)
    chained.rehearse("a")
    first = ledger.path.read_bytes()
    chained.write("a", code="print('later')")
    chained.rehearse("a")
    if known_as == "failed":
        ledger.update(ledger.of()[-1], state="failed")
    else:
        ledger.path.write_bytes(first)
    chained.write("a")
    assert chained.rehearse("b", chain=True) == "ab"
    assert pushes(chained)[-2:] == ["a/3 complete", "b/1 complete"]


def test_every_kernel_of_a_chain_is_checked_before_the_first_one_runs(chained, repository):
    chained.write("b", "INSERT_USERNAME/letter-a", machine_shape="TpuV38")
    with pytest.raises(PreflightError, match="TpuV38 is retired"):
        chained.rehearse("c", chain=True)
    assert pushes(chained) == []
    told = [line for line in repository.message.splitlines() if "chain" in line]
    assert "letter-b, in " in told[-1]


@pytest.mark.long
def test_what_was_checked_is_what_a_chain_sends(chained, monkeypatch):
    bring_home = push_module.finish

    def finish(*arguments):  # when a has run, b is another notebook
        chained.write("b", "INSERT_USERNAME/letter-a", code="edited = True")
        return bring_home(*arguments)

    monkeypatch.setattr(push_module, "finish", finish)
    assert chained.rehearse("b", chain=True) == "ab"
    assert chained.rehearse("b", chain=True) == "ab"  # which has the edit, and so is another push
    assert pushes(chained) == ["a/1 complete", "b/1 complete", "b/2 complete"]


@pytest.mark.long
def test_a_chain_begun_anew_runs_again(chained):
    chained.rehearse("b", chain=True)
    shutil.rmtree(chained.root / "runs/local_kaggle")
    assert chained.rehearse("b", chain=True) == "ab"
    assert len(pushes(chained)) == 4


def test_a_kernel_that_reads_its_own_last_output_is_not_pushed_before_itself(kernels, monkeypatch):
    kernels.write("a", "INSERT_USERNAME/letter-a")
    monkeypatch.chdir(kernels.root / "a")
    for metadata in (None, Path("kernel-metadata.json"), Path()):
        assert PushRequest.of(metadata=metadata, chain=True).needed() == []


def test_a_kernel_of_which_a_source_names_a_version_is_not_pushed_before(chained):
    chained.write("c", "INSERT_USERNAME/letter-b/3")
    request = PushRequest.of(metadata=chained.root / "c", chain=True)
    assert request.needed() == []


def test_kernels_that_need_each_other_are_refused_in_one_line(chained, monkeypatch):
    chained.write("a", "INSERT_USERNAME/letter-c")
    monkeypatch.chdir(chained.root / "c")
    done = CliRunner().invoke(main, ["rehearse", "--chain"])
    assert done.exit_code == 3
    assert done.output.splitlines()[-1] == (
        "error: [rehearsal] letter-c needs letter-b needs letter-a needs letter-c: take one out of "
        "kernel_sources"
    )


def test_a_notebook_without_metadata_has_its_chain_from_the_paths_that_it_reads(chained):
    notebook = chained.root / "d.ipynb"
    read = nbformat.v4.new_code_cell("open('/kaggle/input/notebooks/someone/letter-b/out.txt')")
    nbformat.write(nbformat.v4.new_notebook(cells=[read]), notebook)
    request = PushRequest.of(notebook, assume=True, chain=True)
    assert [each.metadata.slug for each in request.needed()] == ["letter-a", "letter-b"]


def test_two_kernels_of_one_name_are_refused_where_one_is_needed(chained):
    shutil.copytree(chained.root / "a", chained.root / "copies/a")
    with pytest.raises(
        PreflightError, match=r"letter-b needs .*letter-a, which is in .*: keep one"
    ):
        chained.rehearse("c", chain=True)


@pytest.mark.long
def test_a_chain_waits_for_what_it_finds_running(chained, serve):
    serve(queue_seconds=1.0)
    chained.rehearse("a", local=False, wait=False)
    assert chained.rehearse("b", local=False, chain=True) == "ab"
    assert pushes(chained) == ["a/1 complete", "b/1 complete"]


def test_an_up_to_date_result_is_fetched_again_into_a_chosen_folder(chained, tmp_path):
    chained.rehearse("a")
    assert chained.rehearse("a", chain=True, output=tmp_path / "chosen") == "a"
    assert (tmp_path / "chosen/out.txt").is_file()
    assert len(pushes(chained)) == 1


def test_each_rehearsal_of_a_chain_gets_kaggles_packages(chained, monkeypatch):
    kernels = []

    def see_to_packages(context, plan, mounted):
        kernels.append(plan.kernel.slug)

    monkeypatch.setattr(prepare_rehearsal, "see_to_packages", see_to_packages)
    chained.rehearse("b", chain=True, packages="kaggle")
    assert kernels == ["letter-a", "letter-b"]


def test_a_dry_run_of_a_chain_shows_what_it_would_send_and_sends_none(chained, repository):
    chained.rehearse("a")
    chained.rehearse("c", chain=True, dry_run=True)
    lines = repository.message.splitlines()
    requests = [line.rpartition("/")[2] for line in lines if "slug = " in line]
    assert requests == ["letter-b'", "letter-c'"]
    assert [line for line in lines if "identical to tester/letter-a/1 (complete)" in line]
    assert pushes(chained) == ["a/1 complete"]


def test_a_competition_that_no_code_names_needs_no_folder(kernels, repository):
    kernels.write("a", competition_sources=["garden-of-june"])
    assert kernels.rehearse("a") == "a"
    assert "does not have competition garden-of-june, which no code names" in repository.message
    kernels.write("c", code="# of garden-of-june", competition_sources=["garden-of-june"])
    assert kernels.rehearse("c") == "c"
    kernels.write("b", code="SLUG = 'garden-of-june'", competition_sources=["garden-of-june"])
    with pytest.raises(RefusedError, match="the files into input/competitions/garden-of-june"):
        kernels.rehearse("b")


def test_what_is_missing_is_named_with_its_place(kernels):
    kernels.write("a", kernel_sources=["anna/daisies"], model_sources=["anna/oak/Keras/base/2"])
    with pytest.raises(
        RefusedError, match="notebooks/anna/daisies and input/models/anna/oak/keras/base/2"
    ):
        kernels.rehearse("a")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_report_of_each_kernel(kernels, serve, monkeypatch):
    serve()
    monkeypatch.setenv("NO_COLOR", "1")
    kernels.write("a")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    terminal = Terminal()
    kernels.rehearse("b", local=False, chain=True, stream=terminal)
    assert terminal.getvalue().count("│ report ") == 2


def test_the_error_of_a_kernel_that_is_needed_shows_no_secret(kernels, serve, monkeypatch):
    kaggle = serve()
    monkeypatch.setattr(events, "secrets_of_environment", list)  # as of a token in a file
    secret = kaggle.key("tester")
    kernels.write("a", code=f"raise ValueError('the key is ' + {secret[:9]!r} + {secret[9:]!r})")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    with pytest.raises(RunFailedError, match=r"the key is \[secret\]") as failed:
        kernels.rehearse("b", local=False, chain=True)
    assert secret not in str(failed.value)
