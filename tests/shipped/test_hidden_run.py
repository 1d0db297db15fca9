"""The repository's own notebook on a hidden set of its own photos, by one command."""

import re
import subprocess

import pytest
from checkouts import check_out

COMMAND = (
    "kernelkit rehearse notebooks/00_first.ipynb -p quick=yes -p weights=none -p image_size=32 "
    "-p head_epochs=1 -p epochs=0 --accelerator cpu --hidden --make --make-rows 104 --rows 7382"
)


@pytest.mark.long
def test_one_command_ends_with_the_macro_f1_of_a_hidden_run(tmp_path):
    folder = check_out(tmp_path / "repository")
    program, *words = COMMAND.split()
    ran = subprocess.run(
        [folder / ".venv/bin" / program, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said[-3000:]
    assert "104 hidden rows, made now" in said
    assert "on 104 rows (public: 312)" in said
    assert re.search(r"rerun +score 0\.\d+", said)
    assert "the notebook's own macro_f1 is" in said
    rules = folder / "runs/local_kaggle/catalogue/solutions/tpu-getting-started.toml"
    assert 'metric = "f1_macro"' in rules.read_text()
