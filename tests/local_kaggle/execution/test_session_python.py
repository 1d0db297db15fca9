"""What `pip install` in a session changes: the session's own Python, and nothing of the desk's."""

import importlib.metadata
import subprocess
import sys
import zipfile

import pytest

from local_kaggle.execution import session_python, walls
from local_kaggle.execution.sandbox import MountedSource, Sandbox

INSTALL = "pip install --quiet --no-index --find-links /kaggle/input/datasets/me/wheels"


@pytest.fixture
def wheels(tmp_path):
    """A function that makes a wheel with one module, in a folder that is mounted as an input."""
    folder = tmp_path / "wheels"
    folder.mkdir()

    def make(name, version):
        about = f"{name}-{version}.dist-info"
        files = {
            f"{name}.py": f"VERSION = {version!r}\n",
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        files[f"{about}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for file, text in files.items():
                wheel.writestr(file, text)
        return folder

    return make


def shell(box, line):
    return subprocess.run(
        box.enclosed(["/bin/sh", "-c", line]),
        cwd=box.working,
        env=box.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )


def attach(box, folder):
    box.sources = [MountedSource("datasets", "me/wheels", folder)]


@pytest.mark.long
def test_a_wheel_of_an_attached_dataset_can_be_installed_and_ends_with_the_session(box, wheels):
    attach(box, wheels("leaf_of_a_wheel", "1.0"))
    line = f"{INSTALL} leaf_of_a_wheel && python -c 'import leaf_of_a_wheel as m; print(m.VERSION)'"
    done = shell(box, line)
    assert done.stdout == "1.0\n", done.stderr
    assert not list(box.image.rglob("leaf_of_a_wheel*"))
    box.discard()
    assert not box.environment_folder.exists()


@pytest.mark.long
def test_another_version_of_what_the_image_holds_leaves_the_images(box, wheels):
    held = importlib.metadata.version("six")
    attach(box, wheels("six", "99.0"))
    seen = "python -c 'import six, importlib.metadata as m; print(six.VERSION, m.version(\"six\"))'"
    done = shell(box, f"{INSTALL} six==99.0 >&2; {seen}")
    assert done.stdout == "99.0 99.0\n", done.stderr
    (kept,) = box.image.glob("lib/python*/site-packages/six.py")
    assert f'"{held}"' in kept.read_text()


def test_what_the_image_holds_stays_when_a_session_uninstalls_it(box):
    done = shell(box, "pip uninstall --yes six; python -c 'import six; print(six.__name__)'")
    assert done.stdout.endswith("six\n"), done.stderr
    assert "outside environment" in done.stdout + done.stderr


@pytest.fixture
def open_box(python, tmp_path, monkeypatch):
    """A sandbox without walls."""
    monkeypatch.setattr(walls, "builder", lambda: "")
    made = Sandbox(tmp_path / "session", python.parent.parent)
    yield made
    made.discard()


def test_without_walls_an_installation_goes_into_the_session_alone(open_box, wheels):
    folder = wheels("leaf_of_a_wheel", "1.0")
    attach(open_box, wheels("six", "99.0"))
    place = folder.as_posix()
    line = INSTALL.replace("/kaggle/input/datasets/me/wheels", place)
    done = shell(open_box, f"{line} leaf_of_a_wheel six==99.0; python -c 'import six; print(six)'")
    assert str(open_box.environment_folder) in done.stdout, done.stderr
    assert importlib.metadata.version("six") != "99.0"


def test_without_walls_the_pip_of_another_python_refuses(open_box, wheels, tmp_path):
    folder = wheels("leaf_of_a_wheel", "1.0")
    words = f"-m pip install --no-index --find-links {folder} --target {tmp_path / 'there'}"
    done = shell(open_box, f"{sys._base_executable} {words} leaf_of_a_wheel")
    assert done.returncode != 0
    assert "Could not find an activated virtualenv (required)" in done.stderr
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", session_python.INSTALLERS)
def test_without_walls_what_installs_elsewhere_is_refused_in_one_sentence(open_box, name):
    done = shell(open_box, f"{name} install leaf")
    assert done.returncode == 1
    assert f"rehearsal: {name} is refused" in done.stderr
    assert done.stderr.count("\n") == 1


def test_behind_walls_nothing_stands_in_for_what_installs_elsewhere(box):
    for name in session_python.INSTALLERS:
        assert not (box.environment_folder / "bin" / name).exists()


def test_it_takes_an_image_whose_path_has_spaces(python, tmp_path):
    image = tmp_path / "an image's folder"
    image.symlink_to(python.parent.parent)
    own = session_python.make(tmp_path / "own python", image)
    done = subprocess.run([own, "-c", "import six; print('found')"], capture_output=True, text=True)
    assert done.stdout == "found\n", done.stderr
