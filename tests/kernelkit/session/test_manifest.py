"""The manifest that a session writes of its files, as its source does when it runs by itself."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

from kernelkit.session import manifest
from kernelkit.session.manifest import MANIFEST

PUSH = "0123456789abcdef"
SPAWNS = """
import sys
begin(os.getcwd(), "0123456789abcdef")
if __name__ == "__main__":
    spawned = multiprocessing.get_context("spawn").Process(target=print)
    spawned.start()
    spawned.join()
    print("early" if os.path.exists(MANIFEST) else "not yet")
"""


def test_a_process_that_a_script_starts_writes_no_manifest(tmp_path):
    source = Path(manifest.__file__).read_text()
    (tmp_path / "script.py").write_text(f"{source}\nimport multiprocessing, os{SPAWNS}")
    printed = subprocess.check_output([sys.executable, "script.py"], cwd=tmp_path, text=True)
    assert "not yet" in printed
    assert json.loads((tmp_path / MANIFEST).read_text())["complete"]


def test_files_that_no_time_is_left_to_hash_are_listed_without_a_hash(tmp_path, monkeypatch):
    for name, size in (("a.bin", 3), ("b.bin", 1), ("c.bin", 2)):
        (tmp_path / name).write_bytes(bytes(size))
    monkeypatch.setattr(time, "monotonic", itertools.count(step=2).__next__)
    manifest.write_manifest(str(tmp_path), PUSH, False, [])
    files = json.loads((tmp_path / MANIFEST).read_text())["files"]
    assert [file["size"] for file in files] == [1, 2, 3]
    assert [bool(file["sha256"]) for file in files] == [True, False, False]


def test_a_session_tells_the_modules_of_its_image_and_none_that_it_installed(tmp_path):
    packages = tmp_path / "lib" / "site-packages"
    for folder in ("soil", "google", "soil-1.0.dist-info", "soil.libs", "__pycache__"):
        (packages / folder).mkdir(parents=True)
    for file in ("roots.py", "worms.cpython-313-x86_64-linux-gnu.so", "soil.pth"):
        (packages / file).touch()
    script = f"""{Path(manifest.__file__).read_text()}
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(packages)!r}]
begin({str(tmp_path)!r}, {PUSH!r})
open({str(packages / "added.py")!r}, "w").close()
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)
    modules = json.loads((tmp_path / MANIFEST).read_text())["modules"]
    assert modules == ["google", "roots", "soil", "worms"]
