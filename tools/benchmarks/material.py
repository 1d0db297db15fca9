"""What the benchmarks work on: real photos made into records once, kept in the cache."""

from pathlib import Path


def records(photos: Path, sizes: tuple[int, ...]) -> Path:
    """The dataset of a folder of class folders, made or brought up to date."""
    from petals.kaggle import cache_folder
    from petals.prepare.ingest import make_tfrecords

    output = cache_folder() / "benchmark" / photos.resolve().name
    make_tfrecords(photos, output, sizes=sizes)
    return output
