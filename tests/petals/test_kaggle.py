"""Where a session keeps its files."""

from petals import kaggle


def test_a_sessions_scratch_disk_holds_what_is_kept_between_runs(monkeypatch, tmp_path):
    for name in (kaggle.CACHE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(kaggle, "SCRATCH", tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert str(kaggle.cache_folder()) == "/home/me/.cache/petals"
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    assert kaggle.cache_folder() == tmp_path / "petals"
    monkeypatch.setattr(kaggle, "SCRATCH", tmp_path / "not there")
    assert str(kaggle.cache_folder()) == "/home/me/.cache/petals"
