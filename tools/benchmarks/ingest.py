"""make_tfrecords over what decoding, resizing and encoding the same photos costs alone."""

import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SIZE, ROUNDS = 192, 3


def run(photos: Path) -> dict[str, Any]:
    """Photos a second of both, and the median ratio over rounds in which they take turns.

    The yardstick keeps all cores busy with the same decoding, resizing and encoding, and
    neither hashes, sorts nor writes.
    """
    from petals.data.photo_files import PhotoError
    from petals.prepare.ingest import encode, make_tfrecords

    paths = [path for path in sorted(photos.glob("*/*")) if path.is_file()]

    def alone(path: Path) -> None:
        try:
            encode(path, [SIZE])
        except PhotoError:
            return

    times: dict[str, list[float]] = {"alone": [], "make_tfrecords": []}
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(alone, paths))
        times["alone"].append(time.perf_counter() - begun)
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            make_tfrecords(photos, Path(folder), sizes=(SIZE,))
            times["make_tfrecords"].append(time.perf_counter() - begun)
    ratios = [a / m for a, m in zip(times["alone"], times["make_tfrecords"], strict=True)]
    return {
        "alone_photos_per_second": round(len(paths) / statistics.median(times["alone"])),
        "photos_per_second": round(len(paths) / statistics.median(times["make_tfrecords"])),
        "ratio": round(statistics.median(ratios), 3),
    }
