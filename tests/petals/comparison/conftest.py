import pytest

from petals.comparison import runs


@pytest.fixture
def read(tmp_path):
    """Reads the runs that `write_run` wrote, best first."""
    return lambda: runs.read(str(tmp_path / "runs" / "*"))[0]
