"""Before a rehearsal's session: packages of Kaggle's image, and the inputs of `input/`."""

import json

import pytest

from kernelkit import errors, image
from kernelkit.project import VERSIONS

LEAST = "n = 1  # >= 0: n"


@pytest.fixture
def garden(repository, quick_sessions):
    """A repository whose notebook needs no accelerator."""
    repository.on_cpu()
    return repository


def put(folder, **files):
    """Write files into a folder; `__` in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.long
def test_what_kaggle_has_and_this_machine_lacks_is_named_at_once_and_installed_once(garden, index):
    index.add("xgboost", "3.4.1")
    index.add("catboost")
    tiny = "import json, pathlib, xgboost, catboost\npathlib.Path('metrics.json').write_text('{}')"
    garden.sources(tiny, parameters=LEAST)
    lacks = "Kaggle's image has xgboost and catboost, and this Python does not"
    advice = "pip install xgboost catboost, or kernelkit rehearse --packages kaggle"
    with pytest.raises(errors.RunFailedError, match="named 'xgboost'"):
        garden.push(local=True)
    assert f"{lacks}: {advice}" in garden.message
    garden.push(local=True, packages="kaggle")
    assert "installed xgboost~=3.4, catboost" in garden.message
    garden.push(local=True, force=True)
    assert "xgboost" not in garden.message


@pytest.mark.long
def test_the_versions_that_the_doctor_saw_are_installed(garden, index):
    for version in ("2.1", "3.0"):
        index.add("xgboost", version)
    facts = {"facts": {VERSIONS.format("cpu"): '{"xgboost": "2.1"}'}}
    (garden.runs / "doctor").mkdir(parents=True)
    (garden.runs / "doctor" / "doctor.json").write_text(json.dumps(facts))
    garden.sources("import xgboost\nprint('has', xgboost.VERSION)")
    garden.push(local=True, packages="kaggle")
    assert "has 2.1" in garden.message


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.4.2", "3.2"])  # of the image's series, and of another
def test_what_a_package_needs_comes_in_the_series_of_kaggles_image_too(garden, index, version):
    index.add("xgboost", version, requires=["pandas"])
    for of_pandas in ("2.2.9", "3.1"):
        index.add("pandas", of_pandas, modules=["leaf_of_pandas"])
    garden.sources("import xgboost, leaf_of_pandas\nprint('has', leaf_of_pandas.VERSION)")
    garden.push(local=True, packages="kaggle")
    assert "has 2.2.9" in garden.message


@pytest.mark.long
def test_a_series_without_a_wheel_for_this_python_gives_way_to_what_there_is(garden, index):
    index.add("xgboost", "3.2")
    garden.sources("import xgboost\nprint('has', xgboost.VERSION)")
    garden.push(local=True, packages="kaggle")
    assert "installed xgboost\n" in garden.message
    assert "has 3.2" in garden.message


def test_what_an_attached_module_imports_is_installed_too(garden, index):
    index.add("xgboost", "3.4.2")
    code = garden.root / "input/datasets/someone/code"
    put(code, helper__py="import deeper", deeper__py="import xgboost\nx = xgboost.VERSION")
    garden.describe(dataset_sources=["someone/code"])
    garden.sources(
        "import sys; sys.path.append('/kaggle/input/datasets/someone/code')",
        "import helper, deeper\nprint('has', deeper.x)",
    )
    garden.push(local=True, packages="kaggle")
    assert "has 3.4.2" in garden.message


@pytest.mark.long
def test_what_pandas_needs_for_a_format_is_installed_too(garden, index, monkeypatch):
    def engines(calls):
        return ["xgboost"] if "frame.to_f" in calls else []

    monkeypatch.setattr(image, "engines", engines)
    index.add("pandas", "2.2")
    index.add("xgboost", "3.4.3")
    garden.sources("import pandas", "frame = None", "frame and frame.to_f()")
    garden.push(local=True, packages="kaggle")
    assert "installed xgboost~=3.4, pandas~=2.2" in garden.message


def test_packages_kaggle_is_not_advised_to_who_has_just_given_it(garden, index):
    garden.sources("name = 'xgb' + 'oost'\n__import__(name)")
    with pytest.raises(errors.RunFailedError, match="pip install xgboost") as raised:
        garden.push(local=True, packages="kaggle")
    assert "--packages" not in str(raised.value)


def test_a_guarded_import_that_takes_the_other_branch_is_told(garden):
    garden.sources("try:\n    import xgboost\nexcept ImportError:\n    print('without')")
    garden.push(local=True)
    assert "The code can do without: here it takes the other branch" in garden.message
    assert "without" in garden.message


PLACES = {
    "competition_sources": ("soil", "competitions/soil", "soil"),
    "dataset_sources": ("someone/soil", "datasets/someone/soil", "soil"),
    "kernel_sources": ("someone/soil", "notebooks/someone/soil", "soil"),
    "model_sources": (
        "someone/net/PyTorch/small/3",
        "models/someone/net/pytorch/small/3",
        "net/pytorch/small/3",
    ),
}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("former", [False, True], ids=["today", "former"])
def test_a_rehearsal_mounts_what_the_input_folder_has_of_an_attached_source(garden, kind, former):
    source, today, before = PLACES[kind]
    put(garden.root / "input" / (before if former else today), rows__csv="1,2,3")
    garden.describe(**{kind: [source]})
    garden.sources(f"print('rows', open('/kaggle/input/{today}/rows.csv').read())")
    garden.push(local=True)
    assert "rows 1,2,3" in garden.message


def test_the_folder_beside_the_notebook_comes_before_the_repositorys(garden):
    put(garden.root / "input/soil", rows__csv="of the root")
    put(garden.notebook.parent / "input/soil", rows__csv="beside")
    put(garden.runs / "local_kaggle/catalogue/competitions/soil", rows__csv="made")
    garden.describe(competition_sources=["soil"])
    garden.sources("print('rows', open('/kaggle/input/soil/rows.csv').read())")
    garden.push(local=True)
    assert "rows beside" in garden.message


def test_a_dataset_of_a_version_is_mounted_from_the_input_folder(garden):
    put(garden.root / "input/soil", rows__csv="1")
    garden.describe(dataset_sources=["someone/soil/7"])
    garden.sources("print('rows', open('/kaggle/input/datasets/someone/soil/rows.csv').read())")
    garden.push(local=True)
    assert "rows 1" in garden.message


def test_what_is_not_attached_stays_out_of_the_session(garden):
    put(garden.root / "input/soil", rows__csv="1")
    put(garden.root / "input/private", key__txt="key")
    garden.describe(competition_sources=["soil"])
    garden.sources("import os; print('has', sorted(os.listdir('/kaggle/input')))")
    garden.push(local=True)
    assert "has ['competitions', 'soil']" in garden.message


@pytest.mark.parametrize("place", ["input/soil/key", "input/soil", "input"])
def test_a_link_that_leads_out_of_the_input_folder_is_refused(garden, tmp_path, place):
    secret = put(tmp_path / "home" / "soil", id_rsa="key")
    link = garden.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret.parent if place == "input" else secret)
    garden.describe(competition_sources=["soil"])
    garden.sources("print(1)")
    with pytest.raises(errors.ParameterError, match=f"{place} is a link that leads out of"):
        garden.push(local=True)
    assert not garden.pushes()


def test_a_link_inside_the_input_folder_is_followed(garden):
    put(garden.root / "input/soil", all__csv="1")
    (garden.root / "input/soil/rows.csv").symlink_to("all.csv")
    garden.describe(competition_sources=["soil"])
    garden.sources("print('rows', open('/kaggle/input/soil/rows.csv').read())")
    garden.push(local=True)
    assert "rows 1" in garden.message


@pytest.mark.parametrize(
    "place", ["runs/local_kaggle/catalogue/datasets/someone/data", "input/data"]
)
def test_changed_files_of_an_input_are_another_rehearsal(garden, place):
    data = put(garden.root / place, leaves__csv="id\n1\n")
    garden.describe(dataset_sources=["someone/data"])
    garden.sources("print(open('/kaggle/input/datasets/someone/data/leaves.csv').read())")
    garden.push(local=True)
    with pytest.raises(errors.PreflightError, match="identical to"):
        garden.push(local=True)
    put(data, leaves__csv="id\n2\n")
    garden.push(local=True)
    put(data, petals__csv="id\n3\n")
    garden.push(local=True)
    with pytest.raises(errors.PreflightError, match="identical to"):
        garden.push(local=True)


@pytest.mark.long
def test_a_file_that_the_notebook_never_closes_comes_home_whole(garden):
    garden.sources(
        "import csv\n"
        "rows = csv.writer(open('submission.csv', 'w'))\n"
        "rows.writerows([['id', 'label'], [1, 2]])"
    )
    home = garden.push(local=True)
    assert (home / "submission.csv").read_text().split() == ["id,label", "1,2"]
