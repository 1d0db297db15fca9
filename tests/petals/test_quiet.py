"""What C++ code writes past Python while a library is imported."""

import os

import pytest

from petals.quiet import without_notes

NOTES = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795743205.307549   11124 port.cc:153] oneDNN custom operations are on.
E0000 00:00:1795743205.307549   11124 cuda_dnn.cc:8579] Unable to register cuDNN factory
2026-11-27 01:29:40.123456: I tensorflow/core/platform/cpu_feature_guard.cc:210] This binary
To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow
"""


def write(text):
    os.write(2, text.encode())


def test_notes_are_left_out_and_everything_else_is_kept_in_order(capfd):
    with without_notes():
        write(NOTES)
        write("cannot open /dev/accel0\n")
        write(NOTES)
        write("and another line\n")
    assert capfd.readouterr().err == "cannot open /dev/accel0\nand another line\n"


def test_a_failed_import_shows_its_notes_too(capfd):
    with pytest.raises(ImportError, match="undefined symbol"), without_notes():
        write(NOTES)
        raise ImportError("undefined symbol")
    assert capfd.readouterr().err == NOTES


def test_after_the_block_standard_error_is_as_it_was(capfd):
    with without_notes():
        pass
    write(NOTES)
    assert capfd.readouterr().err == NOTES


@pytest.mark.parametrize(("before", "after"), [(None, "3"), ("2", "3"), ("0", "0"), ("3", "3")])
def test_a_level_that_a_user_has_set_stays(monkeypatch, before, after):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", before or "")
    if before is None:
        del os.environ["TF_CPP_MIN_LOG_LEVEL"]  # restored by monkeypatch
    with without_notes():
        assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == after


@pytest.mark.long
def test_importing_tensorflow_and_detecting_the_device_write_nothing(python):
    code = (
        "import os\n"
        "os.environ.pop('TF_CPP_MIN_LOG_LEVEL')\n"
        "os.dup2(1, 2)\n"
        "from petals.quiet import without_notes\n"
        "with without_notes():\n"
        "    import keras, tensorflow\n"
        "print('imported')\n"
        "from petals.accelerators.detect import detect\n"
        "print(detect('cpu').backend)\n"
    )
    assert python(code) == "imported\ntensorflow\n"


def test_the_first_import_of_matplotlib_writes_nothing(python, tmp_path):
    code = (
        "import os, threading\n"
        "os.dup2(1, 2)\n"
        "class AtOnce(threading.Timer):\n"
        "    def start(self):\n"
        "        self.function()  # what Matplotlib says after five seconds\n"
        "threading.Timer = AtOnce\n"
        "from petals.quiet import without_notes\n"
        "with without_notes():\n"
        "    pass\n"
        "import matplotlib.figure\n"
        "print('imported')\n"
    )
    assert python(code, MPLCONFIGDIR=str(tmp_path)) == "imported\n"
