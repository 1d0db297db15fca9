"""A run's own word on why it ended is the command's exit code."""

import pytest

from kernelkit import errors

CODES = {
    "SettingError": 2,
    "AcceleratorError": 10,
    "DataError": 11,
    "WheelsError": 11,
    "StorageError": 12,
    "MyDataError": 6,
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
@pytest.mark.parametrize("form", ["{}: look here", "blossom.errors.{}: look here", "{}"])
def test_the_name_at_a_tracebacks_end_counts(name, code, form):
    last = form.format(name)
    kind, message = errors.of_traceback(f"KeyError   Traceback\nDataError: earlier\n{last}\n")
    assert (kind.exit_code, message) == (code, last)


def test_a_message_of_several_lines_is_whole():
    message = "DataError: 2 files are damaged\nfirst.tfrec: cut short\nMounted: nothing"
    assert errors.of_traceback(f"in a cell\n{message}\n") == (errors.DataError, message)


@pytest.mark.parametrize("text", ["", "the log was cut"])
def test_no_exception_is_a_failed_run(text):
    assert errors.of_traceback(text) == (errors.RunFailedError, text)


def test_petals_names_its_errors_so():
    from petals import errors as own

    for name, kind in vars(own).items():
        if (
            isinstance(kind, type)
            and issubclass(kind, own.PetalsError)
            and kind is not own.PetalsError
        ):
            here = errors.OF_NOTEBOOKS.get(name, errors.RunFailedError)
            assert here.exit_code == kind.exit_code, name


def test_each_error_has_the_exit_code_that_the_table_names():
    names = "Parameter Preflight Credentials Refused RunFailed Deadline Network Outputs"
    names += " AcceleratorMismatch Data Storage StillRunning DoesNotFit NoCompiler"
    codes = [getattr(errors, f"{name}Error").exit_code for name in names.split()]
    assert codes == list(range(2, 16))
