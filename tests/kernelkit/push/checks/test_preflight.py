"""Each trap of Kaggle's metadata is found before anything is sent."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from kernelkit import errors
from kernelkit.push.checks import preflight
from kernelkit.push.checks.findings import stop_on_errors
from kernelkit.push.known.ledger import Ledger, Push
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest


def plan_of(notebook, **wishes):
    return plan_push(PushRequest.of(notebook, **wishes))


def findings(repository, *parameters, **wishes):
    return tuple(preflight.run_checks(repository.plan(*parameters, **wishes)))


def texts_of(level):
    def texts(repository, *parameters, **options):
        return [f.text for f in findings(repository, *parameters, **options) if f.level == level]

    return texts


errors_of, guesses_of = texts_of("error"), texts_of("guess")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"enable_tpu": False, "enable_tpus": True}, "did you mean enable_tpu"),
        ({"kernel_data_sources": ["me/a"]}, "did you mean kernel_sources"),
        ({"enable_internet": "no"}, "enable_internet must be a JSON bool"),
        ({"dataset_sources": "me/data"}, "dataset_sources must be a JSON list, not 'me/data'"),
        ({"keywords": 3}, "keywords must be a JSON list"),
        ({"id": None}, "id '' is not OWNER/SLUG"),
        ({"id": "me/me/blossom-train"}, "is not OWNER/SLUG"),
        ({"kernel_sources": [f"a/b/{'9' * 5000}"]}, "is not owner/slug"),
        ({"dataset_sources": ["me/Me/data"]}, "is not owner/slug"),
        (
            {"id": "INSERT_USERNAME/abc", "title": "abc d"},
            "fewer than the five characters that Kaggle demands: choose longer",
        ),
        ({"language": "r"}, 'train.ipynb is Python: write "language": "python"'),
        ({"kernel_type": "rmarkdown"}, 'kernelkit pushes a "notebook" or a "script"'),
        ({"machine_shape": "TpuV38"}, "TpuV38 is retired"),
        ({"machine_shape": "NvidiaTeslaT4Highmem"}, "not for users: use NvidiaTeslaT4"),
        ({"machine_shape": "TpuV5e8"}, "did you mean TpuV5E8"),
        ({"machine_shape": "gpu_t4_x2"}, "GPU T4 x2 is NvidiaTeslaT4"),
        ({"machine_shape": "T4"}, "GPU T4 x2 is NvidiaTeslaT4"),
        ({"machine_shape": "abc"}, "it takes tpu, gpu"),
        ({"competition": {"handle": "leaves"}}, "did you mean competition_sources"),
        ({"enable_gpus": True}, "did you mean enable_gpu"),
        ({"machine_shape": "NvidiaTeslaT4"}, "enable_tpu is true, but machine_shape is"),
        ({"enable_gpu": True}, "both true"),
        ({"docker_image_pinning_type": "newest"}, "original or latest"),
    ],
)
def test_a_trap_is_an_error(repository, changes, message):
    repository.describe(**changes)
    assert any(message in text for text in errors_of(repository)), errors_of(repository)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"qwertz": 1, "priority": 2},
            "Kaggle ignores these keys of its metadata: qwertz, priority",
        ),
        (
            {"competition": "abc", "competition_sources": ["leaves"]},
            "Kaggle ignores these keys of its metadata: competition",
        ),
        ({"title": "Blossom training"}, "the slug 'blossom-training', not 'blossom-train'"),
    ],
)
def test_a_doubt_is_one_guess(repository, changes, message):
    repository.describe(**changes)
    (text,) = guesses_of(repository)
    assert message in text
    assert not errors_of(repository)


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_data_sources": []},
        {"kernel_data_sources": ["me/a"], "dataset_sources": ["me/a"]},
        {"docker_image": "gcr.io/kaggle-images/python@sha256:1"},
        {"docker_image_pinning_type": "original"},
        {"is_private": False},
        {"machine_shape": "TpuV6E8"},
        {"dataset_sources": [""]},
        {"title": "Blüten training"},  # what Kaggle makes of such letters is not known
        {"enable_tpu": False, "machine_shape": None, "docker_image": "x"},
    ],
)
def test_what_changes_nothing_is_not_told(repository, changes):
    repository.describe(**changes)
    assert findings(repository) == ()


@pytest.mark.parametrize("key", ["_comment_machine_shape", "// machine_shape", "#id", "$schema"])
def test_a_key_that_is_a_comment_is_none_that_was_mistyped(repository, key):
    repository.describe(**{key: "T4 and not P100"})
    assert errors_of(repository) == guesses_of(repository) == []


def test_sources_are_sent_once(repository):
    repository.describe(dataset_sources=["me/data", "me/more", "me/data", ""])
    assert findings(repository) == ()
    assert repository.plan().save_fields["dataset_data_sources"] == ["me/data", "me/more"]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("!pip install some-thing", "pip install some-thing"),
        ("pip install some-thing==1", "pip install some-thing==1"),
        ("!pip install -q some-thing > /dev/null", "pip install -q some-thing"),
        ("!pip install some-thing 2>&1 && ls ./x", "pip install some-thing"),
        ("!wget https://example.org/x", "wget https"),
        ("!git clone https://example.org/x", "git clone"),
        ("!pip install numpy==1.0", "pip install numpy==1.0"),
        ("!pip install -U numpy", "pip install -U numpy"),
        ("!pip install numpy some-thing", "pip install numpy some-thing"),
        ("!pip install -q numpy 'Scikit_Learn'", ""),  # the image has them
        ("!pip install --no-index --find-links=/kaggle/input/w some-thing", ""),
        ("!pip install /kaggle/input/w/some_thing-1.0-py3-none-any.whl", ""),
        ("!pip install 'some>=2' -f /kaggle/input/w", ""),
        ("if online:\n    !pip install some-thing", ""),
        ("# !pip install some-thing", ""),
    ],
)
def test_a_command_that_downloads_without_internet_is_a_guess(repository, source, shown):
    repository.sources(source)
    warned = [text for text in guesses_of(repository) if "needs the internet, which is off" in text]
    assert len(warned) == bool(shown), warned
    assert all(f"[cell 1]: `{shown}" in text for text in warned)


@pytest.mark.parametrize(
    "source",
    [
        "%pip install timm_something==2.0 -q",
        "!pip install a-package-of-another-name",
        "!python setup.py install",
        "cmd = [sys.executable, '-m', 'pip', 'install']\ncmd.append(x)",
        "import sys\nsys.path.append('/kaggle/input/x')",
    ],
)
def test_a_module_that_no_list_knows_may_come_by_any_install(repository, source):
    repository.sources(f"{source}\nimport timm_something")
    assert not any("have timm_something (" in text for text in guesses_of(repository))
    repository.sources("import timm_something\nimport numpy")
    assert any("have timm_something (" in text for text in guesses_of(repository))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("!pip install -q annoy==1.17", False),
        ("!pip install -r requirements.txt", False),
        ("!pip install --no-index --find-links=/kaggle/input/wheels other", False),
        ("!uv pip install /kaggle/input/wheels/other.whl", False),
        ("import sys\nsys.path.append('/kaggle/input/x')", False),
        ("!pip -q install annoy", False),
        ("!pip install annoy.tabular", False),
        ("!uv add annoy", False),
        ("!pip install other", True),
        ("!git add .", True),
        ("!git lfs install", True),
        ("!tar xf data.tar", True),
        ("!cp -r data .", True),
    ],
)
def test_a_package_that_is_known_comes_by_an_install_that_names_it_or_files(
    repository, source, told
):
    repository.sources(f"{source}\nimport annoy")
    assert any("not have annoy (" in text for text in guesses_of(repository)) == told


def test_modules_written_by_a_cell_or_of_a_code_competition_are_not_missing(repository):
    repository.sources("import kaggle_evaluation.core")
    assert "kaggle_evaluation" in guesses_of(repository)[0]
    repository.describe(competition_sources=["garden"])
    assert guesses_of(repository) == []
    copy = repository.root / "data" / "kaggle_evaluation"  # as it was downloaded
    copy.mkdir(parents=True)
    (copy / "__init__.py").touch()
    assert guesses_of(repository) == []
    repository.describe(competition_sources=[])
    (told,) = guesses_of(repository)
    assert "attach the dataset, utility script or competition that has it" in told
    repository.sources("%%writefile own_thing.py\nx = 1", "import own_thing")
    assert guesses_of(repository) == []


def test_the_metadata_that_kaggle_kernels_init_writes_is_read_as_its_client_reads_it(repository):
    repository.describe(
        enable_gpu="false",
        enable_tpu="False",
        enable_internet="false",
        is_private="true",
        machine_shape="",
    )
    assert findings(repository) == ()
    sent = {"enable_gpu": False, "enable_tpu": False, "is_private": True}
    assert repository.plan().save_fields.items() >= sent.items()


@pytest.mark.parametrize(
    ("changes", "accelerator", "sent"),
    [
        ({"machine_shape": "TpuV38"}, "tpu", {"machine_shape": "TpuV5E8", "enable_tpu": True}),
        ({}, "cpu", {"machine_shape": None, "enable_tpu": False}),
        ({"docker_image": "gcr.io/x"}, None, {"docker_image": None}),  # it would start a CPU
        (  # as `kaggle kernels pull` writes it
            {"machine_shape": "None", "enable_tpu": False, "enable_gpu": True},
            None,
            {"machine_shape": "NvidiaTeslaT4"},
        ),
    ],
)
def test_a_push_asks_for_the_machine_that_is_meant(repository, changes, accelerator, sent):
    repository.describe(**changes)
    request = repository.plan(accelerator=accelerator).save_fields
    assert {name: request.get(name) for name in sent} == sent
    assert accelerator != "tpu" or not errors_of(repository, accelerator=accelerator)


@pytest.mark.parametrize(("kind", "minutes"), [("tpu", 541), ("cpu", 721)])
def test_a_timeout_past_the_cap_is_an_error(repository, kind, minutes):
    (message,) = errors_of(repository, accelerator=kind, timeout=minutes)
    assert "exceeds Kaggle's limit" in message
    assert not errors_of(repository, accelerator=kind, timeout=minutes - 1)


@pytest.mark.parametrize("minutes", [0, float("nan"), float("inf")])
def test_a_timeout_that_is_no_positive_number_is_refused(repository, minutes):
    with pytest.raises(errors.ParameterError, match="give a positive number of minutes"):
        findings(repository, timeout=minutes)


@pytest.fixture
def needy(repository):
    """The repository, with values of `files` that need something."""
    repository.configure(
        '[tool.kernelkit.needs]\ninternet = ["files=7"]\ndownload = ["files=6"]\n'
        'competition = ["files=8"]\ndesk = ["files=9"]\n'
    )
    return repository


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "files=7 needs the internet"),
        (6, "files=6 downloads data that is not attached"),
        (8, "files=8 reads the competition's files: add it to competition_sources"),
        (9, "files=9 works only locally"),
    ],
)
def test_the_needs_of_each_run_that_a_notebook_starts_are_checked(needy, value, message):
    assert findings(needy, starts=[{"files": 1}, {"files": 2}]) == ()
    (text,) = errors_of(needy, starts=[{"files": 1}, {"files": value}])
    assert text.startswith(message)


def test_needs_are_met_by_the_switches_and_an_attached_dataset_by_itself(needy):
    needy.describe(dataset_sources=["me/weights"], competition_sources=["garden"])
    assert findings(needy, "files=6") == findings(needy, "files=8") == ()
    needy.describe(enable_internet=True)
    assert findings(needy, "files=7") == ()


def test_a_file_of_this_machine_is_a_guess(repository):
    parameters = 'weights = ""  # a file\noutput = ""  # where to'
    repository.sources("print(weights, output)", parameters=parameters)
    (file := repository.root / "w.h5").touch()

    assert f"weights={file} is on this machine only" in guesses_of(repository, f"weights={file}")[0]
    for other in ("/kaggle/input/w.h5", "a/" * 3000, "~nobody-of-this-name/w.h5", "a/\0"):
        assert not any(
            "machine only" in text for text in guesses_of(repository, f"weights={other}")
        )
    assert not guesses_of(repository, f"output={repository.root}")


@pytest.mark.parametrize("value", ["../input/roses", "./../input", "../working/roses.h5"])
def test_a_path_that_a_session_has_too_is_not_of_this_machine_only(
    repository, monkeypatch, tmp_path, value
):
    repository.sources("print(data)", parameters='data = ""  # a folder')
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")
    Path(value).mkdir(parents=True)
    texts = guesses_of(repository, f"data={value}")
    assert not any("this machine only" in text for text in texts)


@pytest.mark.parametrize(
    ("there", "advice"),
    [
        ("Train.ipynb", "name that as code_file in"),
        ("train.py", r"name that .*, or make the notebook of it \(jupytext .*/train.py\)"),
    ],
)
def test_a_code_file_of_another_case_or_kind_is_named(repository, there, advice):
    folder = repository.notebook.parent
    repository.notebook.rename(folder / there)
    with pytest.raises(errors.NotebookError, match=f"train.ipynb, but there is {there}: {advice}"):
        repository.plan()


def test_an_input_of_kaggle_that_lies_here_too_is_told_once(repository):
    data = repository.notebook.parent.parent / "input"
    (data / "roses").mkdir(parents=True)
    (data / "roses" / "train.csv").touch()
    repository.describe(competition_sources=["roses"])
    repository.sources('pd.read_csv("../input/roses/train.csv")')
    (message,) = guesses_of(repository)
    assert message.endswith("some sessions have only /kaggle/input/competitions/roses: try both")
    (data / "other.csv").touch()
    repository.sources('pd.read_csv("../input/other.csv")')
    (message,) = guesses_of(repository)
    assert message.endswith("one that is attached, as /kaggle/input/competitions/roses")


def test_a_file_that_a_cell_writes_needs_its_inputs_and_may_find_its_modules_elsewhere(repository):
    repository.sources("%%writefile agent.py\nimport trl\nopen('/kaggle/input/tulips/x.csv')")
    (unattached,) = guesses_of(repository)
    assert unattached.startswith("notebooks/train.ipynb[cell 1] names /kaggle/input/tulips")


def test_of_inputs_whose_kind_is_assumed_no_mount_is_claimed(repository):
    repository.sources('pd.read_csv("../input/roses/train.csv")')
    repository.metadata.unlink()
    (message,) = preflight.run_checks(plan_of(repository.notebook, assume=True))
    assert "have only /kaggle/input/competitions/SLUG for a competition and" in message.text


def test_of_many_former_mounts_the_first_are_named(repository):
    slugs = ["ash", "elm", "fir", "oak", "yew"]
    repository.describe(dataset_sources=[f"me/{slug}" for slug in slugs])
    repository.sources(*(f"open('/kaggle/input/{slug}/x')" for slug in slugs))
    (message,) = guesses_of(repository)
    assert "/kaggle/input/ash, /kaggle/input/elm, /kaggle/input/fir and 2 more, and" in message
    assert "/kaggle/input/datasets/me/fir and 2 more: try both" in message


def test_what_makes_a_bundle_large_is_named(repository, notebook_code):
    (repository.package / "table.txt").write_text("x" * 600_000)
    picture = {"picture.png": {"image/png": "A" * 300_000}}
    repository.cells(
        notebook_code(f"x = '{'y' * 200_000}'"),
        {"cell_type": "markdown", "metadata": {}, "source": "", "attachments": picture},
        notebook_code("import blossom.petals"),
    )
    message = errors_of(repository)[0]
    assert "files that a run does not need in leave_out" in message
    assert (
        "The largest: blossom/table.txt (600 kB), notebooks/train.ipynb[text cell 1] tags"
        in message
    )
    (repository.package / "table.txt").unlink()
    repository.cells(notebook_code(f"x = '{'y' * 1_000_000}'"))
    (repository.root / "pyproject.toml").write_text("")
    message = errors_of(repository)[0]
    assert "move data out of the cells" in message
    assert "leave_out" not in message


def test_a_module_without_a_wheel_is_no_advice_to_attach_one(repository):
    repository.sources("import tensorflow_addons as tfa")
    (message,) = guesses_of(repository)
    assert "does not have tensorflow_addons" in message
    assert "its development has ended" in message
    assert "VERSION" not in message


@pytest.mark.parametrize(
    ("code_file", "notebook"),
    [
        ("train.Rmd", {}),
        ("train.ipynb", {"kernelspec": {"name": "ir", "display_name": "R 4", "language": "R"}}),
        ("train.ipynb", {"language_info": {"name": "R"}}),
    ],
)
def test_r_is_refused_by_what_the_file_is(repository, notebook_code, code_file, notebook):
    repository.cells(notebook_code("x <- 1"), **notebook)
    (repository.notebook.parent / code_file).touch()
    repository.describe(code_file=f"notebooks/{code_file}")
    with pytest.raises(errors.NotebookError, match="is R, and kernelkit runs and pushes only"):
        findings(repository)


@pytest.mark.parametrize("language", ["julia", "C++17"])
def test_a_language_that_kaggle_does_not_run_is_refused(repository, notebook_code, language):
    spec = {"name": "other", "display_name": "Other", "language": language}
    repository.cells(notebook_code("x = 1"), kernelspec=spec)
    told = f"is {re.escape(language)} by its metadata, and Kaggle"
    with pytest.raises(errors.NotebookError, match=told):
        findings(repository)


def test_own_modules_that_do_not_travel_are_told_by_their_folder(repository):
    lib = repository.root / "app" / "lib"
    lib.mkdir(parents=True)
    for name in ("bulbs", "roots", "spare"):
        (lib / f"{name}.py").touch()
    optional = "try:\n    import spare\nexcept ImportError:\n    pass"
    repository.sources(f"import bulbs\nimport roots\n{optional}")
    (told,) = guesses_of(repository)
    assert "line 1 (and cell 1, line 2) imports bulbs, roots, your own in app/lib," in told
    assert "unless" not in told
    repository.sources("import sys\nsys.path.append(found)\nimport bulbs")
    (told,) = guesses_of(repository)
    assert "a push does not bring, unless an attached source does: " in told
    repository.sources("import sys\nsys.path.append('/kaggle/input/lib')\nimport bulbs, unknown")
    (told,) = guesses_of(repository)
    assert "names /kaggle/input/lib, which no attached source has" in told
    repository.describe(enable_internet=True)
    repository.sources("!pip install git+https://example.org/lib\nimport bulbs")
    assert guesses_of(repository) == []


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("read_csv('train.csv', sep=';')\nopen('log.txt', 'w')", True),
        ("to_csv('train.csv')\nread_csv('train.csv')", False),
        ("if not ON_KAGGLE:\n    read_csv('train.csv')", False),
        ("for line in open('train.csv'):\n    pass", True),
        ("NAME = 'train.csv'\nread_csv(NAME)", True),
        ("NAME = 'train.csv'\ntable.to_csv(NAME)\nread_csv(NAME)", False),
        ("log = Logger(file='train.csv')\nread_csv('./train.csv')", False),
        ("read_csv('nowhere.csv')", False),
        ("!cp train.csv /tmp/", True),
        ("if not ON_KAGGLE:\n    !cp train.csv /tmp/", False),
    ],
)
def test_a_file_that_code_only_reads_beside_the_notebook_is_named(repository, code, named):
    for name in ("train.csv", "log.txt"):
        (repository.notebook.parent / name).touch()
    repository.sources(code)
    beside = "notebooks/train.ipynb[cell 1] names train.csv, which a push does not bring: to read"
    assert [text.startswith(beside) for text in guesses_of(repository)] == [True] * named


SOURCES = {
    "competition_sources": ["leaves"],
    "dataset_sources": ["anna/seeds/3"],
    "model_sources": ["anna/oak/Keras/base/1"],
}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "open('../input/leaves/train.csv')",
            "sessions have only /kaggle/input/competitions/leaves: try",
        ),
        ("open('/kaggle/input/seeds')", "have only /kaggle/input/datasets/anna/seeds: try"),
        (
            "open('/kaggle/input/oak/keras')",
            "input/oak, and some sessions have only /kaggle/input/models",
        ),
        ("open('/kaggle/input/other')", "names /kaggle/input/other, which no attached source has"),
        ("open('/kaggle/input/anna/x')", "names /kaggle/input/anna, which no attached"),  # an owner
        ("!mkdir /kaggle/input/other", "names /kaggle/input/other, which no attached source has"),
        (
            "open('/kaggle/input/competitions/oaks/x')",
            "competitions/oaks, which no attached source has",
        ),
        (
            "open('/kaggle/input/datasets/ben/seeds/x')",
            "datasets/ben/seeds, which no attached source has",
        ),
        (
            "open('/kaggle/input/models/anna/elm/x')",
            "models/anna/elm, which no attached source has",
        ),
        (
            "open('/kaggle/input/notebooks/anna/a/x')",
            "notebooks/anna/a, which no attached source has",
        ),
        ("open('/kaggle/input/competitions/leaves/x')", ""),
        ("open('/kaggle/input/datasets/anna/seeds/x')", ""),
        ("open('/kaggle/input/models/anna/oak/keras/base/1/x')", ""),
        ("open(f'/kaggle/input/datasets/{owner}/seeds')", ""),
        ("root = '/kaggle/input'", ""),
        ("# open('/kaggle/input/leaves/train.csv')", ""),
        ("print('/kaggle/input/competitions/leaves', '/kaggle/input/leaves')", ""),
        ("a = '/kaggle/input/competitions/leaves' or '/kaggle/input/leaves'", ""),
    ],
)
def test_an_input_at_its_older_place_or_not_attached_is_named(repository, code, message):
    repository.describe(**SOURCES)
    repository.sources(code)
    texts = guesses_of(repository)
    assert [message in text for text in texts] == [True] * bool(message), texts


def test_inputs_that_no_source_has_are_told_in_one_line(repository):
    repository.describe(competition_sources=["leaves"])
    others = [f"open('/kaggle/input/other{number}/x')" for number in range(5)]
    repository.sources(*others)
    (text,) = guesses_of(repository)
    assert "[cell 1] (and cell 2, cell 3, cell 4, cell 5) names /kaggle/input/other0, " in text
    assert "/kaggle/input/other4, which no attached source has: attach the source" in text
    assert text.endswith("one that is attached, as /kaggle/input/competitions/leaves")


def test_a_kernels_output_at_its_former_mount_is_named_as_the_source_that_it_is(repository):
    repository.describe(kernel_sources=["anna/leaf-features"])
    repository.sources("open('/kaggle/input/leaf-features/x.csv')")
    (text,) = guesses_of(repository)
    assert text.endswith("only /kaggle/input/notebooks/anna/leaf-features: try both")


def test_an_exit_that_ends_no_notebook_is_named_in_a_notebook_alone(repository):
    repository.sources("print(1)", "exit()")
    (text,) = guesses_of(repository)
    assert text.startswith(
        "notebooks/train.ipynb[cell 2] calls exit(), after which cells still run"
    )
    repository.notebook.with_suffix(".py").write_text("exit()\n")
    repository.describe(code_file="notebooks/train.py", kernel_type="script")
    assert guesses_of(repository) == []


def test_what_exceeds_kaggles_size_is_refused(repository):
    data = repository.package / "table.json"
    data.write_text(json.dumps("x" * 850_000))
    assert guesses_of(repository) == errors_of(repository) == []
    data.write_text(json.dumps("x" * 1_000_000))
    assert "move data out of the packages" in errors_of(repository)[0]


def test_a_notebook_that_differs_from_its_script_is_an_error(repository):
    script = repository.notebook.with_suffix(".py")
    script.write_text("import sys  # no half of a pair\n")
    assert not errors_of(repository)
    script.write_text("# %% Cell 2\nprint('newer')\n")  # nor is this: it has no header
    assert not errors_of(repository)
    header = "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n"
    script.write_text(f"{header}\n# %%\nprint('newer')\n")
    assert "differ from cell 1 on" in errors_of(repository)[0]


@pytest.mark.parametrize(("kind", "timeout", "minutes"), [("tpu", None, 540), ("cpu", 30, 30)])
def test_the_machine_and_the_time_asked_for_are_told_to_the_notebook(
    repository, kind, timeout, minutes
):
    made = repository.plan(accelerator=kind, timeout=timeout)
    assert made.parameters["accelerator"] == kind
    assert f"'session_minutes': {minutes}" in made.bundle.text
    with pytest.raises(errors.ParameterError, match="contradict"):
        repository.plan("accelerator=gpu", accelerator=kind)


@pytest.fixture
def other(repository):
    """Another notebook beside the repository's."""
    return Path(shutil.copy(repository.notebook, repository.notebook.with_name("other.ipynb")))


def test_another_notebook_takes_metadata_of_its_own(repository, other):
    with pytest.raises(errors.PreflightError, match="name one with --metadata"):
        plan_of(other)
    named = plan_of(other, metadata=repository.metadata)
    assert named.metadata.code_file == other


def test_a_notebooks_own_metadata_comes_before_the_default(repository, other):
    own = other.with_name("other.kernel-metadata.json")
    values = {"id": "me/blossom-other", "title": "Blossom other", "code_file": "other.ipynb"}
    own.write_text(json.dumps(repository.values | values))

    for half in (other, other.with_suffix(".py")):
        made = plan_of(half)
        assert (made.metadata.path, made.metadata.code_file) == (own, other)
        assert not [f for f in preflight.run_checks(made) if f.level == "error"]
    assert plan_of(repository.notebook).metadata.slug == "blossom-train"


NEEDED = """\
def sources(notebook, values):
    if values["files"] > 9:
        return {"model": {"anna/oak/keras/base/2": "licence:\\n  of oaks"}}
    return {"model": ["anna/oak/keras/base/2"]} if values["files"] > 3 else {}
"""


@pytest.fixture
def needing(repository):
    """A repository whose parameters need a model for more than three files."""
    (repository.root / "src" / "own_sources.py").write_text(NEEDED)
    file = repository.root / "pyproject.toml"
    file.write_text(file.read_text() + 'sources = "own_sources:sources"\n')
    return repository


def test_a_push_attaches_what_its_parameters_need_and_says_so(needing):
    assert needing.plan("files=3").save_fields["model_data_sources"] == []
    assert needing.plan("files=4").save_fields["model_data_sources"] == ["anna/oak/keras/base/2"]
    told = [f.text for f in findings(needing, "files=4") if f.level == "attached"]
    assert told == ["model anna/oak/keras/base/2, which its parameters need"]
    assert needing.plan("files=10").save_fields["model_data_sources"] == ["anna/oak/keras/base/2"]
    told = [f.text for f in findings(needing, "files=10") if f.level == "attached"]
    assert told == ["model anna/oak/keras/base/2 (licence: of oaks), which its parameters need"]


def test_what_is_attached_already_stays_in_its_version(needing):
    needing.describe(model_sources=["anna/oak/keras/base/1"])
    plan = needing.plan("files=4")
    assert plan.save_fields["model_data_sources"] == ["anna/oak/keras/base/1"]
    assert plan.extra_sources == ()


def test_the_runs_that_a_notebook_starts_need_their_sources_too(needing):
    starts = [{"files": 1}, {"files": 5}]
    assert needing.plan(starts=starts).extra_sources == ("model anna/oak/keras/base/2",)


def test_what_one_run_needs_does_not_stand_for_what_another_one_downloads(needing):
    needing.configure('[tool.kernelkit.needs]\ndownload = ["files=1", "files=5"]\n')
    attached = ["anna/oak/keras/base/1"]
    for models in ([], attached):
        needing.describe(model_sources=models)
        assert not errors_of(needing, "files=5"), "its model is attached by itself"
        (text,) = errors_of(needing, starts=[{"files": 5}, {"files": 1}])
        assert text.startswith("files=1 downloads data that is not attached")
    needing.describe(model_sources=[*attached, "anna/elm/keras/base/1"])
    assert not errors_of(needing, starts=[{"files": 5}, {"files": 1}])


def test_what_is_attached_for_one_run_is_no_data_of_another(needing):
    needing.configure('[tool.kernelkit.needs]\ndownload = ["files=2", "files=5", "files=6"]\n')
    starts = [{"files": 5}, {"files": 2}, {"files": 6}]
    (text,) = errors_of(needing, starts=starts)
    assert text.startswith("files=2 downloads data that is not attached")
    assert not errors_of(needing, starts=[{"files": 5}, {"files": 6}])
    needing.describe(model_sources=["anna/oak/keras/base/1"])
    assert errors_of(needing, starts=starts) == [text]
    for other in ({"model_sources": ["anna/elm/keras/base/1"]}, {"dataset_sources": ["me/elm"]}):
        needing.describe(**{"model_sources": [], **other})
        assert not errors_of(needing, starts=starts)
    needing.describe(enable_internet=True)
    assert not errors_of(needing, starts=starts)


def test_a_push_may_attach_models_that_the_metadata_do_not_name(repository):
    repository.describe(model_sources=["anna/oak/keras/base/1"])
    models = ["keras/dinov2", "anna/oak/keras/base/1"]
    attached = repository.plan(model=models)
    assert attached.save_fields["model_data_sources"] == ["anna/oak/keras/base/1", models[0]]
    assert any(
        "'keras/dinov2' is not owner/model/framework" in each.text
        for each in preflight.run_checks(attached)
    )


def test_the_account_stands_in_for_placeholders_in_sources_too(repository):
    repository.describe(
        kernel_sources=["INSERT_USERNAME/blossom-sweep", "other/kernel"],
        dataset_sources=["your_username/weights", "bare"],
        model_sources=["INSERT_USERNAME/m/keras/base/1"],
    )
    own = repository.plan().owned_by("me")
    sent = {
        "slug": "me/blossom-train",
        "kernel_data_sources": ["me/blossom-sweep", "other/kernel"],
        "dataset_data_sources": ["me/weights", "bare"],
        "model_data_sources": ["me/m/keras/base/1"],
    }
    assert own.save_fields | sent == own.save_fields
    rehearsed = own.owned_by("tester", anyone=True).save_fields
    assert rehearsed["kernel_data_sources"] == ["tester/blossom-sweep", "other/kernel"]
    assert rehearsed["dataset_data_sources"] == sent["dataset_data_sources"]


def test_a_module_that_the_image_lacks_is_a_guess(repository):
    source = "import blossom.petals\n\nimport annoy, numpy, os\nprint(files)"
    repository.sources(source, parameters="files = 1")
    (repository.package / "petals.py").write_text("F1 = 1\ndef f():\n    import xgboost\n")
    (found,) = guesses_of(repository)
    assert "TPU sessions does not have annoy (notebooks/train.ipynb[cell 2], line" in found
    assert ", xgboost (blossom/petals.py, line 3): " in found
    assert 'add "annoy==VERSION", "xgboost==VERSION" to wheels in [tool.kernelkit]' in found
    (only,) = guesses_of(repository, accelerator="gpu")
    assert "annoy" in only


def test_modules_that_no_list_knows_are_told_in_one_line(repository):
    repository.sources("import timm_something", "import leaf_something")
    (text,) = guesses_of(repository)
    assert "timm_something (notebooks/train.ipynb[cell 1], line 1), leaf_something (" in text


def test_a_title_of_another_slug_is_no_news_once_kaggle_has_the_kernel(repository):
    repository.describe(title="Blossom training")
    assert "first push may land there" in guesses_of(repository)[0]
    repository.describe(title="Blossom training", id_no=12345)
    assert guesses_of(repository) == []
    repository.describe(id="INSERT_USERNAME/blossom-train", id_no=None)
    Ledger(repository.runs).begin(Push("tester/blossom-train", "c", "abc", "tpu"))
    assert guesses_of(repository) == []


def test_what_no_list_knows_is_said_to_be_not_known_and_advises_nothing(repository):
    repository.sources("import timm_something")
    (text,) = guesses_of(repository)
    assert "it is not known whether TPU sessions have timm_something" in text
    assert "kernelkit doctor" in text
    assert "==" not in text


def test_imports_of_modules_that_stay_at_the_desk_are_named(repository):
    (repository.root / "src" / "bouquet").mkdir()
    (repository.root / "src" / "bouquet" / "__init__.py").touch()
    (repository.root / "vase.py").touch()  # one beside the notebook travels
    repository.sources("import bouquet, vase")
    for attached in ([], ["garden"]):  # whatever is attached
        repository.describe(competition_sources=attached)
        found = guesses_of(repository)
        assert ["bouquet" in found[0], "vase" in found[1], len(found)] == [True, True, 2]
        assert all("name its package in packages" in text for text in found)
    repository.sources("import sys\nsys.path.append(root)", "import bouquet")
    assert "bouquet" in guesses_of(repository)[0]
    repository.sources("!pip install -q other", "import bouquet")
    assert any("your own in" in text for text in guesses_of(repository))
    repository.sources("!git clone https://example.org/bouquet", "import bouquet")
    assert not any("your own" in text for text in guesses_of(repository))


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("x = 1\ndef wither(:\n    pass", 2),
        ("%matplotlib inline\nfiles = !ls\nx = = 1", 3),
        ("return 3", 1),
        ("x = 1\npip install numpy", 2),  # IPython takes it in a cell of one line only
        ("print(f'{1}')\nif x:\nprint(2)", 3),  # an f-string elsewhere explains nothing
    ],
)
def test_a_cell_that_is_not_python_is_an_error(repository, source, line):
    repository.sources("import json", source, parameters="files = 3")
    for given in ((), ("files=4",)):  # which puts a cell in between
        (message,) = errors_of(repository, *given)
        assert message.startswith(f"notebooks/train.ipynb[cell 3], line {line}: ")


NEWER = (
    'print(f"{x["a"]}")',
    '%matplotlib inline\nprint(f"{x["a"]:>{w["b"]}}")',
    "x = f'{'\\n'.join(y)}'",
    "def f[T: list[int]](x: T): ...",
    "type X[T] = list[T]",
)


@pytest.mark.parametrize(
    "source",
    [
        *NEWER,
        "%matplotlib inline\n!pip list\nfiles = !ls\nwhere = %pwd\nx = 1",
        "%%bash\nif true; then echo 'a'; fi",
        "\n%%time\nx = 1",
        "pip install numpy",
        "json??\n?json",
        "await petals()",
        "if True:\n    %cd ..\n    !ls {x}",
        ">>> x = 1\n... y = 2",
        "pattern = '\\d'",
    ],
)
def test_cells_that_ipython_or_a_newer_python_understands_are_no_error(repository, source):
    repository.sources(source)
    assert errors_of(repository) == []
    assert len(guesses_of(repository)) == (source in NEWER and sys.version_info < (3, 12))


def test_a_binary_module_beside_the_notebook_stays_here(repository):
    engine = repository.notebook.parent / "engine"
    engine.mkdir()
    (engine / "__init__.py").touch()
    (engine / "engine.so").write_bytes(b"\xff\xfe\0")
    repository.sources("import engine")
    (message,) = errors_of(repository)
    assert message.startswith("engine is not pushed: ")
    assert "engine.so is not UTF-8 text" in message

    repository.describe(competition_sources=["garden"])
    repository.sources("import sys\nsys.path.insert(0, '/kaggle/input/garden')\nimport engine")
    assert errors_of(repository) == []
    assert any("engine is not pushed" in text for text in guesses_of(repository))


def test_a_carried_module_that_is_not_python_is_an_error(repository):
    (repository.package / "petals.py").write_text("F1 = 0.75\n\ndef wither(:\n    pass\n")
    (message,) = errors_of(repository)
    assert message.startswith("blossom/petals.py, line 3: ")
    (repository.package / "unused.py").write_text("F1 = = 1\n")  # does not ride
    assert len(errors_of(repository)) == 1


def test_a_parameter_that_is_set_again_is_an_error_where_it_is_given(repository):
    repository.sources("rate = 0.001", "fit(rate)", parameters="rate = 0.1\nwidth = 1")
    again = "-p rate=VALUE changes nothing: line 1 of cell 2 sets rate again"
    (text,) = errors_of(repository, "rate=0.5")
    assert text.startswith(again)
    first, second = guesses_of(repository, "width=2")
    assert first.startswith(again)
    assert second == "-p width=VALUE changes nothing: nothing in the notebook reads width"


def test_of_two_cells_of_parameters_the_first_counts(repository, notebook_code):
    cells = (notebook_code(text, ["parameters"]) for text in ("n = 1\nepochs = 2", "n = 3\nm = 4"))
    repository.cells(*cells)
    own = [c["source"] for c in json.loads(repository.plan("epochs=5").bundle.text)["cells"]]
    place = own.index("n = 1\nepochs = 2")
    assert own[place + 1 :][:2] == ["# Parameters\nepochs = 5", "n = 3\nm = 4"]
    for name in ("n", "m"):
        with pytest.raises(errors.ParameterError, match="cell 2, also tagged 'parameters'"):
            findings(repository, f"{name}=7")


def test_errors_come_first_and_all_at_once(repository):
    repository.describe(kernel_type="rmarkdown", machine_shape="TpuV38", title="Else at all")
    found = findings(repository)
    assert [f.level for f in found] == sorted(f.level for f in found)
    with pytest.raises(errors.PreflightError, match="found 2 problems"):
        stop_on_errors(found)


@pytest.mark.parametrize("text", ["[]", "{"])
def test_metadata_that_is_no_object_is_named(repository, text):
    repository.metadata.write_text(text)
    with pytest.raises(errors.PreflightError, match=r"kernel-metadata\.json"):
        findings(repository)


def test_a_notebook_that_reads_secrets_is_warned_that_a_push_drops_them(repository):
    repository.sources("print('of kaggle_secrets: nothing')")
    assert guesses_of(repository) == []
    read = "UserSecretsClient().get_secret('token')"
    cell = f"from kaggle_secrets import UserSecretsClient\ntoken = {read}"
    repository.sources(cell)
    (text,) = guesses_of(repository)
    assert "the account's Secrets, which a push detaches" in text
    repository.sources(cell.replace("token = ", "if True: "))
    assert guesses_of(repository) == []  # the code knows what to do without


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        (None, ["both true: choose one"]),
        ("None", ["both true: choose one"]),
        ("TpuV5E8", ["both true: choose one", "machine_shape is TpuV5E8 (TPU v5e-8)"]),
    ],
)
def test_two_flags_contradict_a_shape_only_where_one_stands(repository, shape, found):
    repository.describe(enable_gpu=True, enable_tpu=True, machine_shape=shape)
    told = errors_of(repository)
    assert len(told) == len(found)
    for text, end in zip(told, found, strict=True):
        assert text.endswith(end)


@pytest.mark.parametrize("owner", ["__KAGGLE_USERNAME__", "your-username", "_YOUR_USERNAME_"])
def test_an_owner_that_is_still_to_be_filled_in_is_none(repository, owner):
    source = f"{owner}/tulip-bulbs"
    repository.describe(id=f"{owner}/blossom-train", dataset_sources=[source])
    metadata = repository.plan().metadata
    assert metadata.owner == ""
    assert metadata.owned_by("florist").sources["dataset"] == ["florist/tulip-bulbs"]


@pytest.mark.parametrize("owner", ["${USER}", "<your name>", "{{ user }}"])
def test_an_owner_that_nobody_can_have_is_not_suggested_again(repository, owner):
    repository.describe(id=f"{owner}/blossom-train")
    (text,) = errors_of(repository)
    assert text.endswith('write "INSERT_USERNAME/blossom-train"')


@pytest.mark.parametrize("shape", ["Gpu", "gpu"])
def test_a_shape_that_names_only_a_kind_leaves_the_machine_to_kaggle(repository, shape):
    repository.describe(machine_shape=shape, enable_tpu=False, enable_gpu=True)
    assert findings(repository) == ()
    repository.describe(enable_tpu=True, enable_gpu=False)
    assert "enable_tpu is true, but machine_shape is" in errors_of(repository)[0]


def test_a_magic_that_nothing_has_is_told_once_with_what_to_do(repository):
    repository.sources("%%shell\necho 1", "%%shell\necho 2", "%matplotlib inline\nx = 7\n%time x")
    (text,) = guesses_of(repository)
    assert "[cell 1] (and cell 2) calls %%shell" in text
    assert "load the extension" in text
    repository.sources("% matplotlib inline")
    assert "leave out the space after the %" in guesses_of(repository)[0]
    repository.sources("%load_ext sql", "%%sql\nselect 1")
    assert guesses_of(repository) == []


def test_a_call_that_only_colab_answers_is_told_unless_guarded(repository):
    mount = "from google.colab import drive\ndrive.mount('/content/drive')"
    repository.sources(mount)
    assert any("is Colab's alone" in text for text in guesses_of(repository))
    guarded = "if 'google.colab' in sys.modules:\n    " + mount.replace("\n", "\n    ")
    repository.sources(f"import sys\n{guarded}")
    assert guesses_of(repository) == []


def test_a_folder_of_the_one_attached_competition_is_no_source(repository):
    repository.describe(competition_sources=["garden"])
    repository.sources('open("../input/train/a.csv")', 'open("../input/train/b.csv")')
    (text,) = guesses_of(repository)
    assert text.endswith("one that is attached, as /kaggle/input/competitions/garden")
    assert "(and cell 2)" in text


def test_a_source_is_its_slug_whatever_its_capitals(repository):
    repository.describe(dataset_sources=["me/My-Wheels"])
    repository.sources(
        'open("/kaggle/input/datasets/me/my-wheels/x")\nopen("/kaggle/input/my-wheels")'
    )
    assert not any("attached" in text for text in guesses_of(repository))


def test_findings_in_a_script_name_its_lines(repository):
    script = repository.notebook.with_suffix(".py")
    text = (
        'import os\n# %% tags=["parameters"]\nx = 1\n# %%\ny = x\nopen("/kaggle/input/roses/a")\n'
    )
    script.write_text(text)
    repository.describe(kernel_type="script", code_file="notebooks/train.py")
    (found,) = guesses_of(repository)
    assert found.startswith("notebooks/train.py, line 6 names /kaggle/input/roses")


def test_lines_of_a_script_are_counted_from_its_first_one(repository):
    script = repository.notebook.with_suffix(".py")
    secret = f"KEY = 'AKIA{'A1B2C3D4' * 2}'"
    script.write_text(f'\n\n# %% tags=["parameters"]\nx = 1\n# %%\nx = 2\n{secret}\n')
    repository.describe(kernel_type="script", code_file="notebooks/train.py")
    errors = errors_of(repository, "x=3")
    assert any("changes nothing: line 6 sets x again" in text for text in errors)
    assert any(text.startswith("notebooks/train.py:7") for text in errors), errors


@pytest.mark.parametrize(
    ("kind", "source", "form"),
    [
        (
            "competition",
            "https://www.kaggle.com/competitions/garden/overview",
            'the bare slug: write "garden"',
        ),
        ("competition", "c/garden", 'the bare slug: write "garden"'),
        ("dataset", "datasets/me/data", 'owner/slug: write "me/data"'),
    ],
)
def test_an_address_is_no_source(repository, kind, source, form):
    repository.describe(**{f"{kind}_sources": [source]})
    assert f"{source!r} is not {form}" in errors_of(repository)[0]


def test_the_address_of_a_kernel_is_no_id(repository):
    repository.describe(id="https://www.kaggle.com/code/me/blossom-train")
    assert 'write "me/blossom-train"' in errors_of(repository)[0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("!python train.py --data /kaggle/input/tulip-bulbs", True),
        ("%%bash\ncp -r /kaggle/input/tulip-bulbs data", True),
        ("%run train.py --data=/kaggle/input/tulip-bulbs", True),
        ("!ls /kaggle/input/tulip-bulbs", True),
        ("if not ROOT:\n    !cp -r /kaggle/input/tulip-bulbs data", False),
        (
            "!cp -r /kaggle/input/datasets/florist/tulip-bulbs d || cp /kaggle/input/tulip-bulbs d",
            False,
        ),
    ],
)
def test_a_command_reads_a_former_mount_unless_todays_is_known(repository, source, told):
    repository.describe(dataset_sources=["florist/tulip-bulbs"])
    repository.sources(source)
    assert ["some sessions have only" in text for text in guesses_of(repository)] == [True] * told


def test_a_script_names_each_line_that_reads_an_older_mount(repository):
    script = repository.notebook.with_name("tulip.py")
    repository.describe(
        code_file=str(script), kernel_type="script", dataset_sources=["Florist/Tulip-Bulbs"]
    )
    script.write_text("open('/kaggle/input/tulip-bulbs/a')\nopen('/kaggle/input/tulip-bulbs/b')\n")
    (text,) = guesses_of(repository)
    assert "[cell" not in text
    assert "tulip.py, line 1 (and line 2) names" in text
    assert text.endswith("only /kaggle/input/datasets/florist/tulip-bulbs: try both")


@pytest.mark.parametrize(
    ("line", "told"),
    [("# as on kaggle", True), ("ON_KAGGLE = False", True), ("DATA = '/kaggle/input'", True)],
)
def test_a_word_about_kaggle_does_not_silence_a_local_read(repository, line, told):
    (repository.notebook.parent / "bulbs.csv").touch()
    repository.sources(line, "read_csv('bulbs.csv')")
    assert any("names bulbs.csv" in text for text in guesses_of(repository)) == told


def test_an_id_with_the_page_before_it_is_named_without(repository):
    repository.describe(id="code/florist/tulip-bulbs", title="Tulip bulbs")
    assert any('write "florist/tulip-bulbs"' in text for text in errors_of(repository))
