"""A push asks the TPU's compiler before it spends quota, or tells what was said last time."""

import pytest

from kernelkit import errors
from kernelkit.tpu.check import check_tpu


def pushed(garden, *parameters, **options):
    """What a dry push says: nothing is sent, and nobody is asked."""
    garden.push(*parameters, dry_run=True, **options)
    return garden.message


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    from kernelkit.workspace import context

    def refuse(*_):
        raise errors.NetworkError("no network in this test")

    monkeypatch.setattr(context, "open_connection", refuse)


def test_a_program_that_does_not_fit_stops_the_push(garden):
    with pytest.raises(errors.DoesNotFitError, match="refused by the compiler of a v5e-8"):
        pushed(garden, "batch_size=40", check_tpu=True)
    assert "needs 20.00 GiB a chip" in garden.message
    assert "dry run" not in garden.message


def test_one_that_fits_goes_on_and_the_second_push_asks_nobody(garden):
    assert "fits, 8.00 GiB of 16 GiB a chip" in pushed(garden, check_tpu=True)
    assert "nothing was sent" in garden.message
    assert "nothing changed since" in pushed(garden, check_tpu=True)
    assert len(garden.asked()) == 1


def test_the_setting_checks_every_push(garden):
    file = garden.root / "pyproject.toml"
    file.write_text(file.read_text() + "before_push = true\n")
    with pytest.raises(errors.DoesNotFitError):
        pushed(garden, "batch_size=40")


def test_without_it_the_preflight_tells_of_the_last_check(garden):
    assert "was not checked with the TPU's compiler" in pushed(garden)
    assert garden.asked() == []
    check_tpu(garden.notebook, quiet=True)
    assert "it fits a v5e-8" in pushed(garden)
    with pytest.raises(errors.DoesNotFitError):
        check_tpu(garden.notebook, ["batch_size=48"], quiet=True)
    assert "does not fit: it needs 24.00 GiB a chip" in pushed(garden, "batch_size=48")
    assert len(garden.asked()) == 2
    (garden.package / "petals.py").write_text("F1 = 0.76\n")
    assert "before the sources changed: it fits a v5e-8" in pushed(garden)
    assert "sources changed: training step: does not fit" in pushed(garden, "batch_size=48")


def test_another_machine_has_nothing_to_check(garden):
    garden.describe(enable_tpu=None, machine_shape=None)
    with pytest.raises(errors.ParameterError, match="--accelerator tpu"):
        pushed(garden, check_tpu=True)
    assert "compiler" not in pushed(garden)
