"""What a session's image lacks is installed from attached wheels, without a network."""

import subprocess
import sys

import pytest

from kernelkit.push.added.installing import WheelsError, install_wheels


@pytest.fixture(autouse=True)
def own_paths(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path))
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a notebook's kernel does
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", "")


@pytest.mark.parametrize("place", ["datasets/me/garden-wheels-1a2b/deep", "garden-wheels-1a2b"])
def test_wheels_of_a_dataset_bring_what_the_image_lacks(index, tmp_path, place):
    index.add("bloom-of-a-wheel", requires=["stem-of-a-wheel", "pytest"], folder=tmp_path / place)
    index.add("stem-of-a-wheel", folder=tmp_path / place)

    added = install_wheels(["bloom-of-a-wheel==1.0"], "garden-wheels")

    assert added == ["bloom-of-a-wheel==1.0", "stem-of-a-wheel==1.0"]
    command = [sys.executable, "-c", "import stem_of_a_wheel as s; print(s.VERSION)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "1.0\n"


def test_what_the_image_holds_is_left_as_it_is():
    assert install_wheels([f"pytest=={pytest.__version__}"], "nothing") == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "cannot be installed: no dataset of wheels is attached"),
        ("others", "bloom_of_a_wheel cannot be installed from the attached wheels"),
        ("older", "No matching distribution found for pytest<2"),
    ],
)
def test_without_the_wheel_it_ends_in_one_line(index, tmp_path, name, message):
    index.add("another", folder=tmp_path / "datasets/me/others-1")
    index.add("bloom_of_a_wheel", requires=["pytest<2"], folder=tmp_path / "datasets/me/older-1")
    with pytest.raises(WheelsError, match=message) as caught:
        install_wheels(["bloom_of_a_wheel"], name)
    assert "\n" not in str(caught.value)
