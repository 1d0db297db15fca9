"""Pinned packages become wheels, with what they require and the target does not hold."""

import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kernelkit import errors
from kernelkit.push.datasets import pip
from kernelkit.push.datasets.wheel_set import find_wheels, kaggles_python, this_python

KAGGLES = kaggles_python((3, 12))
HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture
def find(index, tmp_path):
    """Finds wheels in the index, by default for Kaggle's older Python."""
    return lambda *pins, target=KAGGLES: find_wheels(pins, target, tmp_path)


def found(wheels):
    return {wheel.name: wheel.version for wheel in wheels.wheels}


@pytest.mark.long
def test_what_is_required_comes_along_save_what_the_image_holds(index, find):
    index.add(
        "bloom",
        requires=(
            "stem>=1",
            "numpy>=99",
            "Scikit-Learn",
            'older; python_version < "3.12"',
            'newer; python_version >= "3.12"',
            'docs; extra == "docs"',
            'thorns; sys_platform == "win32"',
        ),
    )
    index.add("stem", "1.0")
    index.add("stem", "2.0", requires=["root[deep]"])
    index.add("root", requires=['water; extra == "deep"'])
    index.add("scikit-learn", modules=["sklearn", "_sklearn"])
    for name in ("newer", "older", "water"):
        index.add(name)

    wheels = find("bloom==1.0")

    assert wheels.modules == {"bloom", "newer", "root", "stem", "water"}
    assert found(wheels) == dict.fromkeys(wheels.modules, "1.0") | {"stem": "2.0"}
    assert len(list(wheels.wheels[0].path.parent.iterdir())) == 5


def test_each_target_gets_the_wheel_that_suits_it(index, find):
    kaggles = index.add("bloom", tag="cp312-cp312-manylinux_2_28_x86_64")
    own = index.add("bloom", tag=f"{HERE}-none-any")
    index.add("bloom", "1.1", tag="cp312-cp312-win_amd64")
    suiting = {kaggles.name, own.name} if HERE == "cp312" else set()
    for target, best in ((KAGGLES, kaggles), (this_python(), own)):
        (wheel,) = find("bloom==1.0", target=target).wheels
        assert wheel.path.name in suiting | {best.name}


@pytest.mark.long
def test_a_version_that_another_requirement_excludes_is_named_until_it_is_pinned(index, find):
    index.add("bloom", requires=["stem", "twig"])
    index.add("twig", requires=["stem<2"])
    for version in ("1.5", "2.0"):
        index.add("stem", version)
    with pytest.raises(errors.PreflightError, match=r"stem<2 is required, too, but stem 2\.0"):
        find("bloom==1.0")
    assert found(find("bloom==1.0", "stem==1.5")) == {"bloom": "1.0", "stem": "1.5", "twig": "1.0"}


def test_what_was_found_is_kept_and_changes_with_the_pins(index, find):
    index.add("bloom")
    index.add("bloom", "2.0")
    first = find("bloom==1.0")
    assert found(find("bloom==2.0")) == {"bloom": "2.0"}
    index.clear()
    again = find("bloom==1.0")
    assert (again.contents.digest, found(again)) == (first.contents.digest, {"bloom": "1.0"})


def test_nothing_is_asked_for_what_this_python_holds_in_that_version(find):
    pins = [f"pytest=={pytest.__version__}"]
    assert find(*pins, target=this_python()).wheels == ()
    with pytest.raises(errors.PreflightError, match=r"no wheel of pytest==0\.0\.1"):
        find("pytest==0.0.1", target=this_python())


@pytest.mark.parametrize("tag", ["", "cp312-cp312-win_amd64"])
def test_nothing_that_suits_is_said_in_a_line(index, tmp_path, tag, find):
    if tag:
        index.add("bloom", tag=tag)
    with pytest.raises(errors.PreflightError) as caught:
        find("bloom==1.0")
    message = "no wheel of bloom==1.0 for Kaggle's Python 3.12: correct wheels in [tool.kernelkit]"
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not [path for path in (tmp_path / ".wheels").iterdir() if path.is_dir()]


def test_a_package_for_rehearsals_without_a_wheel_names_another_way_out(index, tmp_path):
    with pytest.raises(errors.PreflightError, match=r"no wheel of pandas==99 .*Kaggle's Python"):
        pip.install(["pandas"], {"pandas": "99"}, tmp_path)


def test_a_package_may_carry_others_with_their_metadata(index, find):
    with zipfile.ZipFile(index.add("bloom"), "a") as archive:
        archive.writestr("bloom/vendored/stem-9.dist-info/METADATA", "Name: stem\nVersion: 9\n")
    assert found(find("bloom==1.0")) == {"bloom": "1.0"}


def test_a_file_that_is_no_wheel_is_named(index, find):
    index.add("bloom")
    (whole,) = find("bloom==1.0").wheels
    whole.path.write_bytes(b"half a wheel")
    with pytest.raises(errors.DataError, match="is not a complete wheel: delete it"):
        find("bloom==1.0")
    index.add("stem").write_bytes(b"not a wheel")
    with pytest.raises(errors.PreflightError, match=r"pip failed: .*invalid"):
        find("stem==1.0")


@pytest.fixture
def answering(index, monkeypatch):
    """An index on the network that gives one answer to all that is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(self.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setattr(pip, "CONNECTIONS", ("--retries=0", "--timeout=5"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def answer(status):
            Handler.status = status
            return f"127.0.0.1:{server.server_port}"

        yield answer
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (None, errors.NetworkError, "did not answer"),
        (503, errors.NetworkError, "did not answer"),
        (404, errors.PreflightError, "no wheel of bloom==1.0"),
        (401, errors.PreflightError, "refuses this machine's pip"),
    ],
)
def test_an_index_that_does_not_help(answering, monkeypatch, status, error, message, find):
    place = answering(status) if status else "127.0.0.1:9"
    monkeypatch.setenv("PIP_INDEX_URL", f"http://gardener:s3kret-word@{place}/simple")
    with pytest.raises(error, match=message) as caught:
        find("bloom==1.0")
    assert "s3kret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch, find):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(errors.PreflightError, match="ensurepip"):
        find("bloom==1.0")
