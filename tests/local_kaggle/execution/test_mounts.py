from __future__ import annotations

import os

from local_kaggle.execution.sandbox import MountedSource, mount, unmount


def test_sources_lie_where_kaggle_mounts_them_and_links_lead_there_from_older_places(tmp_path):
    folder = tmp_path / "source" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"a")
    sources = [
        MountedSource("competitions", "flowers", tmp_path / "source"),
        MountedSource("datasets", "me/weights", tmp_path / "source"),
        MountedSource("notebooks", "me/before", tmp_path / "source"),
        MountedSource("models", "me/net/keras/b0/1", tmp_path / "source"),
    ]
    root = tmp_path / "input"
    mount(sources, root)
    found = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.bin"))
    walked = sum(len(files) for _, _, files in os.walk(root))
    assert walked == len(found)
    assert found == [
        "competitions/flowers/deep/a.bin",
        "datasets/me/weights/deep/a.bin",
        "models/me/net/keras/b0/1/deep/a.bin",
        "notebooks/me/before/deep/a.bin",
    ]
    for older in ("flowers", "weights", "before", "net/keras/b0/1"):
        assert (root / older / "deep" / "a.bin").read_bytes() == b"a"
    unmount(root)
    assert not root.exists()
    assert (folder / "a.bin").read_bytes() == b"a"
