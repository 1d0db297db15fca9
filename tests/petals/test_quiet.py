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


def test_importing_tensorflow_writes_nothing(python):
    code = (
        "import os\n"
        "os.environ.pop('TF_CPP_MIN_LOG_LEVEL')\n"
        "os.dup2(1, 2)\n"
        "from petals.quiet import without_notes\n"
        "with without_notes():\n"
        "    import keras, tensorflow\n"
        "print('imported')\n"
    )
    assert python(code) == "imported\n"


def test_detecting_the_device_writes_nothing(python):
    code = (
        "import os\n"
        "os.dup2(1, 2)\n"
        "from petals.accelerators.detect import detect\n"
        "print(detect('cpu').backend)\n"
    )
    assert python(code) == "tensorflow\n"
