import pytest

from petals.data.layout import RecordFile, chosen, nearest_size, record_files, split_of


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("Training", "train"),
        ("valid", "val"),
        ("Validation", "val"),
        ("test", "test"),
        ("test1", ""),
        ("Training_Set", ""),
        ("train station", ""),
    ],
)
def test_a_folder_is_a_split_if_it_is_called_so(name, split):
    assert split_of(name) == split


def test_of_several_sources_each_has_its_own_best_size():
    def file(source, size):
        return RecordFile(f"{source}/{size}", "train", size, source)

    small, large, other = file("a", 192), file("a", 512), file("b", 224)
    assert chosen([small, large], 192) == ([small], 192)
    assert chosen([small, large, other], 192) == ([small, other], 0)
    assert chosen([file("c", 0), small], 192)[1] == 0


@pytest.mark.parametrize(
    ("path", "split", "size", "source"),
    [
        ("tfrecords-jpeg-192x192/val/00-192x192-232.tfrec", "val", 192, ""),
        ("tfrecords-jpeg-192x192-2/flowers00-230.tfrec", "train", 192, ""),
        ("imagenet/tfrecords-jpeg-224x224/00-224x224-462.tfrec", "train", 224, "imagenet"),
        ("a/b/tfrecords-jpeg-224x224/valid/00-224x224-9.tfrec", "val", 224, "a/b"),
        ("train00-2071.tfrec", "train", 0, ""),
        ("ld_train00-1338.tfrec", "train", 0, ""),
        ("test03-687.tfrec", "test", 0, ""),
        ("Validation/x.tfrecord", "val", 0, ""),
        ("flowers_validation_00003-of-00005.tfrecord", "val", 0, ""),
        (
            "tf_flowers/3.0.1/tf_flowers-train.tfrecord-00000-of-00002",
            "train",
            0,
            "tf_flowers/3.0.1",
        ),
        ("photos.tfrecord.gz", "train", 0, ""),
        ("contest/01-331x331-9.tfrec", "train", 0, "contest"),
    ],
)
def test_split_size_and_source_are_read_off_the_path(tmp_path, path, split, size, source):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert record_files(str(tmp_path)) == [RecordFile(str(file), split, size, source)]


def test_junk_and_other_files_are_no_records(tmp_path):
    for name in (
        "__MACOSX/tfrecords-jpeg-32x32/train/00-32x32-5.tfrec",
        ".ipynb_checkpoints/train.tfrec",
        "train/._00.tfrec",
        "train/labels.csv",
        "train/a.tfrec.lock",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert record_files(str(tmp_path)) == []


def test_beside_folders_of_sizes_nothing_else_counts(tmp_path):
    for name in ("tfrecords-jpeg-32x32/train/00-32x32-5.tfrec", "old/train/00-32x32-5.tfrec"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert len(record_files(str(tmp_path))) == 1


@pytest.mark.parametrize(("wanted", "size"), [(192, 192), (200, 224), (100, 192), (600, 512)])
def test_the_nearest_size_is_the_next_larger_one_or_the_largest(wanted, size):
    assert nearest_size({192, 224, 512}, wanted) == size
