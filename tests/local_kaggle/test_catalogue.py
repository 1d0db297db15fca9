import pytest

from local_kaggle import LocalKaggleError
from local_kaggle.catalogue import Catalogue, fill_catalogue


@pytest.fixture
def catalogue(tmp_path):
    for name in ("competitions/flowers", "datasets/me/weights", "models/me/net/keras/b0/1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    return Catalogue(tmp_path)


@pytest.mark.parametrize("name", ["competitions/flowers", "datasets/me/weights", "models/me/net"])
def test_what_is_there_is_found_by_its_reference(catalogue, name):
    assert catalogue.find(*name.split("/", 1)) == catalogue.folder / name


@pytest.mark.parametrize(
    "name",
    [
        "competitions/weeds",
        "competitions/c/flowers",
        "competitions/..",
        "datasets/../secret",
        "models/me/net/keras/b0/1",
    ],
)
def test_a_way_out_a_prefix_and_a_version_lead_nowhere(catalogue, name):
    assert catalogue.find(*name.split("/", 1)) is None


def test_what_has_earlier_versions_or_a_page_is_listed_once(catalogue):
    datasets = catalogue.folder / "datasets" / "me"
    (datasets / "weights.versions" / "4").mkdir(parents=True)
    (datasets / "weights.toml").write_text("isPrivate = true")
    assert catalogue.references("datasets") == ["me/weights"]
    assert catalogue.versions("datasets", "me/weights") == {
        5: datasets / "weights",
        4: datasets / "weights.versions" / "4",
    }
    assert catalogue.page("datasets", "me/weights") == {"isPrivate": True}
    assert list(catalogue.versions("models", "me/net/keras/b0")) == [1]
    assert catalogue.versions("datasets", "me/none") == {}


def test_a_command_fills_it_in_its_projects_folder_and_its_lines_are_handed_on(tmp_path, capfd):
    code = "import os, sys; os.makedirs(sys.argv[1] + '/competitions/a'); print('one', flush=True)"
    (tmp_path / "fill.py").write_text(f"{code}; print('two', file=sys.stderr)")
    lines, command = [], "python fill.py {catalogue}"
    fill_catalogue(tmp_path / "new", command, tmp_path, lines.append)
    assert lines == ["one", "two"]
    assert Catalogue(tmp_path / "new").references("competitions") == ["a"]
    with pytest.raises(LocalKaggleError, match=r"(?s)exit code 1\n.*    FileExistsError"):
        fill_catalogue(tmp_path / "new", command, tmp_path)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(LocalKaggleError, match=r"is incomplete: .* remove it and .*\.new\.filling"):
        Catalogue(tmp_path / "new").find("competitions", "a")
    fill_catalogue(tmp_path / "new", "true")
    assert Catalogue(tmp_path / "new").find("competitions", "a")


@pytest.mark.parametrize("command", ["no-such-command", " ", "'open"])
def test_a_command_that_cannot_begin_leaves_it_complete(catalogue, command):
    with pytest.raises(LocalKaggleError, match="could not be filled"):
        fill_catalogue(catalogue.folder, command)
    assert catalogue.find("competitions", "flowers")


def test_a_page_that_cannot_be_read_is_named(context):
    context.put({"datasets/me/soil/a.csv": "a", "datasets/me/soil.toml": "title ="})
    answer = context.post("ListDatasets")
    assert answer.status_code == 400
    assert "soil.toml cannot be read: Invalid value" in answer.json()["message"]
