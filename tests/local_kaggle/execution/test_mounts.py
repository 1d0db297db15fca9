from __future__ import annotations

import os

from local_kaggle.execution.mounts import MountedSource, mount, unmount


def lay_out(tmp_path, layout: str) -> list[str]:
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
    mount(sources, root, layout)
    found = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.bin"))
    walked = sum(len(files) for _, _, files in os.walk(root))
    assert walked == len(found)
    unmount(root)
    assert not root.exists()
    assert (folder / "a.bin").read_bytes() == b"a"
    return found


def test_the_current_layout(tmp_path):
    assert lay_out(tmp_path, "current") == [
        "competitions/flowers/deep/a.bin",
        "datasets/me/weights/deep/a.bin",
        "models/me/net/keras/b0/1/deep/a.bin",
        "notebooks/me/before/deep/a.bin",
    ]


def test_the_layout_that_some_machines_still_have(tmp_path):
    assert lay_out(tmp_path, "legacy") == [
        "before/deep/a.bin",
        "flowers/deep/a.bin",
        "net/deep/a.bin",
        "weights/deep/a.bin",
    ]
