import os
from pathlib import Path

from local_kaggle.execution.sandbox import MountedSource, mount, unmount


def test_sources_lie_where_kaggle_mounts_them_and_links_lead_there_from_older_places(tmp_path):
    source, elsewhere = tmp_path / "source", tmp_path / "elsewhere"
    for folder in (source, elsewhere):
        folder.mkdir()
    (elsewhere / "a.bin").write_bytes(b"a")
    (elsewhere / "loop").symlink_to(source)
    (source / "deep").symlink_to(elsewhere)
    places = {"competitions": "flowers", "datasets": "me/weights", "models": "me/net/keras/b0/1"}
    root = tmp_path / "input"
    mount([MountedSource(kind, place, source) for kind, place in places.items()], root)
    walked = sorted(Path(folder) for folder, _, files in os.walk(root) if files)
    assert walked == [root / kind / place / "deep" for kind, place in places.items()]
    for older in ("flowers", "weights", "net/keras/b0/1"):
        assert (root / older / "deep" / "a.bin").read_bytes() == b"a"
    unmount(root)
    assert not root.exists()
    assert (source / "deep" / "a.bin").read_bytes() == b"a"
