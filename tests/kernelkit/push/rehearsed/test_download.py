"""A rehearsal downloads what is attached and not here, once for all repositories."""

import json
import os

import pytest

from kernelkit import errors, files

READING = "print('rows', open('/kaggle/input/competitions/soil/rows.csv').read())"


@pytest.fixture
def kaggle(serve, quick_sessions):
    kaggle = serve()
    put(kaggle, "competitions/soil", "1,2,3")
    return kaggle


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder for what is kept once for all repositories."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return files.cache() / "input"


@pytest.fixture
def garden(repository):
    repository.on_cpu()
    repository.describe(competition_sources=["soil"])
    repository.sources(READING)
    return repository


def put(kaggle, place, text):
    folder = kaggle.catalogue / place
    folder.mkdir(parents=True)
    (folder / "rows.csv").write_text(text)


def test_what_is_missing_comes_once_and_is_mounted(kaggle, garden, cache):
    garden.push(local=True, download=2)
    assert "download  competition soil: 1 file, 5 bytes" in garden.message
    assert "rows 1,2,3" in garden.message
    assert (cache / "competitions/soil/rows.csv").read_text() == "1,2,3"
    garden.push(local=True, download=2, force=True)
    garden.push(local=True, force=True)
    assert "rows 1,2,3" in garden.message
    assert kaggle.faults.calls["DownloadDataFiles"] == 1


def test_without_the_option_nothing_comes_and_the_message_names_it(kaggle, garden, cache):
    step = "fetch it from Kaggle with --download, or put the files into input/competitions/soil"
    with pytest.raises(errors.RefusedError, match=step):
        garden.push(local=True)
    assert not cache.exists()


def test_what_lies_in_the_input_folder_or_the_catalogue_is_not_downloaded(kaggle, garden):
    (garden.root / "input/soil").mkdir(parents=True)
    (garden.root / "input/soil/rows.csv").write_text("own")
    garden.push(local=True, download=2)
    assert "rows own" in garden.message
    (garden.root / "input").rename(garden.root / "elsewhere")
    made = garden.runs / "local_kaggle/catalogue/competitions/soil"
    made.mkdir(parents=True)
    (made / "rows.csv").write_text("made")
    garden.push(local=True, download=2, force=True)
    assert "rows made" in garden.message
    assert not kaggle.faults.calls["ListDataFiles"]


def test_what_the_catalogue_has_comes_before_what_was_downloaded(kaggle, garden):
    garden.push(local=True, download=2)
    made = garden.runs / "local_kaggle/catalogue/competitions/soil"
    made.mkdir(parents=True)
    (made / "rows.csv").write_text("made")
    garden.push(local=True)
    assert "rows made" in garden.message


def test_every_kind_is_downloaded_and_a_version_stays_its_own(kaggle, garden, cache):
    put(kaggle, "datasets/anna/rain.versions/1", "first")
    put(kaggle, "datasets/anna/rain", "second")
    put(kaggle, "kernels/anna/features", "of a kernel")
    put(kaggle, "models/anna/net/pytorch/small/3", "weights")
    garden.describe(
        dataset_sources=["anna/rain/1"],
        kernel_sources=["anna/features"],
        model_sources=["anna/net/PyTorch/small/3"],
    )
    garden.sources(
        "import glob\n"
        "for name in sorted(glob.glob('/kaggle/input/*/**/rows.csv', recursive=True)):\n"
        "    print(name, open(name).read())"
    )
    garden.push(local=True, download=2)
    assert "/kaggle/input/datasets/anna/rain/rows.csv first" in garden.message
    assert "/kaggle/input/notebooks/anna/features/rows.csv of a kernel" in garden.message
    assert "/kaggle/input/models/anna/net/pytorch/small/3/rows.csv weights" in garden.message
    garden.describe(dataset_sources=["anna/rain"])
    garden.push(local=True, download=2)
    assert "/kaggle/input/datasets/anna/rain/rows.csv second" in garden.message


def test_the_accounts_own_sources_are_found_by_its_name_on_kaggle(kaggle, garden):
    put(kaggle, "datasets/tester/rain", "own rain")
    garden.describe(dataset_sources=["INSERT_USERNAME/rain"])
    garden.sources("print('rows', open('/kaggle/input/rain/rows.csv').read())")
    garden.push(local=True, download=2)
    assert "rows own rain" in garden.message


def test_an_own_kernels_output_lies_in_the_input_folder_or_is_downloaded(kaggle, garden):
    put(kaggle, "kernels/anna/features", "of my run")
    garden.describe(id="anna/blossom-train", kernel_sources=["anna/features"])
    garden.sources("print('rows', open('/kaggle/input/features/rows.csv').read())")
    with pytest.raises(errors.PreflightError, match="input/notebooks/anna/features"):
        (garden.root / "input/competitions/soil").mkdir(parents=True)
        garden.push(local=True)
    garden.push(local=True, download=2)
    assert "rows of my run" in garden.message
    (garden.root / "input/notebooks/anna/features").mkdir(parents=True)
    (garden.root / "input/notebooks/anna/features/rows.csv").write_text("of input")
    garden.push(local=True)
    assert "rows of input" in garden.message


def test_more_than_is_allowed_is_named_and_nothing_comes(kaggle, garden, cache):
    (kaggle.catalogue / "competitions/soil/rows.csv").write_bytes(os.urandom(1_500_000))
    words = (
        r"has 1\.5 MB, and --download takes 0\.001 GB .*: add --download 1, or put the files into "
        r"input/competitions/soil.*\n  - competition soil: 1 file, 1\.5 MB"
    )
    with pytest.raises(errors.PreflightError, match=words):
        garden.push(local=True, download=0.001)
    assert not cache.exists()


def test_without_an_account_the_folder_to_fill_is_named(garden, monkeypatch, tmp_path):
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(errors.CredentialsError, match="Or put the files into input/comp"):
        garden.push(local=True, download=2)


def test_rules_that_nobody_accepted_are_told(serve, garden):
    put(serve(rules_pending=("soil",)), "competitions/soil", "1")
    with pytest.raises(errors.RefusedError, match=r"accept the rules: https://www\.kaggle\.com"):
        garden.push(local=True, download=2)


def test_a_dry_run_or_a_push_takes_no_download(garden):
    with pytest.raises(errors.ParameterError, match="drop --dry-run"):
        garden.push(local=True, download=2, dry_run=True)
    with pytest.raises(errors.ParameterError, match="drop download"):
        garden.push(download=2)


def test_a_rehearsed_kernels_output_comes_before_a_downloaded_one(kaggle, garden, cache):
    features = garden.root / "features"
    features.mkdir()
    (features / "make.py").write_text("open('rows.csv', 'w').write('of the rehearsal')")
    settings = {"id": "anna/features", "title": "features", "code_file": "make.py"}
    settings |= {"language": "python", "kernel_type": "script", "enable_internet": False}
    (features / "kernel-metadata.json").write_text(json.dumps(settings))
    downloaded = cache / "notebooks/anna/features"
    downloaded.mkdir(parents=True)
    (downloaded / "rows.csv").write_text("downloaded")
    garden.describe(competition_sources=[], kernel_sources=["anna/features"])
    garden.sources("print('rows', open('/kaggle/input/features/rows.csv').read())")
    garden.push(local=True)
    assert "rows downloaded" in garden.message
    garden.push(local=True, chain=True, download=2)
    assert "rows of the rehearsal" in garden.message
    assert not kaggle.faults.calls["DownloadKernelOutput"]


@pytest.mark.usefixtures("kaggle")
def test_a_model_of_an_unknown_framework_is_named(repository):
    """The folder in which Kaggle mounts one has its framework in lowercase letters."""
    repository.on_cpu()
    repository.describe(model_sources=["petals/rose-net/pytorch/small/1"])
    told = "petals/rose-net/pytorch/small: Kaggle has no framework 'pytorch': did you mean pyTorch"
    with pytest.raises(errors.PreflightError, match=told):
        repository.push(local=True, download=2)
