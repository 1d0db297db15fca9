"""A file of a run folder is verified by the manifest of its session, and by nothing else."""

import hashlib
import json
import shutil

import pytest

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.session_records import proved, session_manifest

CONTENT = b'{"f1": 0.9}'


def listing(**hashes):
    """A manifest that lists files with these hashes."""
    entries = [{"name": name, "size": 1, "sha256": digest} for name, digest in hashes.items()]
    return json.dumps({"push": "a" * 16, "files": entries})


@pytest.fixture
def pushed(tmp_path):
    """Makes the folder of a push with a `metrics.json`; `manifest` is what is kept of it."""

    def pushed(manifest=None):
        folder = tmp_path / "kernel-v1"
        files.write_bytes(folder / "metrics.json", CONTENT)
        marker = kit_folder.path(folder, kit_folder.MARKER)
        files.write_text(marker, '{"kernel": "me/kernel", "version": 1}')
        if manifest is not None:
            files.write_text(kit_folder.path(folder, kit_folder.MANIFEST), manifest)
        return folder

    return pushed


DIGEST = hashlib.sha256(CONTENT).hexdigest()
RIGHT = listing(**{"metrics.json": DIGEST})


def test_a_file_that_the_manifest_has_is_verified_until_it_changes(pushed):
    folder = pushed(RIGHT)
    assert proved.doubt(folder, "metrics.json") == ""
    assert proved.is_proved(folder, "metrics.json")
    (folder / "metrics.json").write_text('{"f1": 1.0}')
    assert proved.doubt(folder, "metrics.json") == proved.CHANGED.format("metrics.json")
    assert not proved.is_proved(folder, "metrics.json")


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (None, proved.NO_MANIFEST),
        ("", proved.NO_MANIFEST),
        ("{}", proved.NO_MANIFEST),
        ("[" * 100_000, proved.NO_MANIFEST),
        (
            '{"push": "x", "files": [{"name": "a", "size": 1e999, "sha256": ""}]}',
            proved.NO_MANIFEST,
        ),
        (listing(), proved.NOT_NAMED.format("metrics.json")),
        (listing(**{"metrics.json": None}), proved.NOT_NAMED.format("metrics.json")),
        (listing(**{"./metrics.json": DIGEST}), proved.NOT_NAMED.format("metrics.json")),
        (listing(**{"metrics.json": "0" * 64}), proved.CHANGED.format("metrics.json")),
    ],
)
def test_why_a_file_of_a_push_is_not_verified_is_said(pushed, manifest, why):
    assert proved.doubt(pushed(manifest), "metrics.json") == why


def test_a_run_of_this_machine_needs_no_proof_and_proves_nothing(tmp_path):
    files.write_bytes(tmp_path / "metrics.json", CONTENT)
    files.write_text(kit_folder.path(tmp_path, kit_folder.STATE), '{"notebook": "n.ipynb"}')
    assert proved.doubt(tmp_path, "metrics.json") == ""
    assert not proved.is_proved(tmp_path, "metrics.json")


def test_a_folder_within_a_push_is_proved_by_the_pushs_manifest(pushed):
    folder = pushed(listing(**{"sweep/abc/metrics.json": DIGEST}))
    below = folder / "sweep" / "abc"
    files.write_bytes(below / "metrics.json", CONTENT)
    # What the session itself left there proves nothing.
    files.write_text(kit_folder.path(below, kit_folder.STATE), "{}")
    files.write_text(kit_folder.path(below, kit_folder.MANIFEST), RIGHT)
    assert proved.doubt(below, "metrics.json") == ""
    (below / "metrics.json").write_text("{}")
    assert proved.doubt(below, "metrics.json") == proved.CHANGED.format("metrics.json")


def test_files_that_leave_a_pushs_folder_take_their_proof_along(pushed, tmp_path):
    folder = pushed(listing(**{"sweep/abc/metrics.json": DIGEST, "sweep/abd/metrics.json": "0"}))
    home = tmp_path / "abc"
    files.write_bytes(home / "metrics.json", CONTENT)
    session_manifest.keep_part(folder, "sweep/abc", home)
    assert proved.doubt(home, "metrics.json") == ""
    shutil.rmtree(folder)
    (home / "metrics.json").write_text("{}")
    assert proved.doubt(home, "metrics.json") == proved.CHANGED.format("metrics.json")


def test_files_of_a_push_without_a_manifest_stay_unverified_elsewhere(pushed, tmp_path):
    home = tmp_path / "abc"
    files.write_bytes(home / "metrics.json", CONTENT)
    session_manifest.keep_part(pushed(), "sweep/abc", home)
    assert proved.doubt(home, "metrics.json") == proved.NOT_NAMED.format("metrics.json")


def test_the_manifest_that_is_kept_holds_no_secret_however_it_was_written(tmp_path):
    secret = "0123456789abcdef"
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    for written in (secret, escaped):
        text = f'{{"push": "a", "files": [], "modules": ["{written}"]}}'
        session_manifest.keep(tmp_path, text, lambda text: text.replace(secret, "[secret]"))
        kept = kit_folder.path(tmp_path, kit_folder.MANIFEST).read_text()
        assert json.loads(kept)["modules"] == ["[secret]"]


def test_what_a_session_wrote_about_its_own_files_proves_nothing(pushed):
    """Files that were taken unverified may bring a manifest of another push, and its mark."""
    folder = pushed()
    below = folder / "sub"
    files.write_bytes(below / "metrics.json", CONTENT)
    for name, text in ((kit_folder.MARKER, "{}"), (kit_folder.MANIFEST, RIGHT)):
        files.write_text(kit_folder.path(below, name), text)
    assert proved.doubt(below, "metrics.json") == proved.NO_MANIFEST
