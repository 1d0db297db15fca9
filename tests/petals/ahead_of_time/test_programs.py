"""Which data and device a check assumes where neither is at the desk."""

import pytest

from petals.ahead_of_time import programs
from petals.errors import SettingError

SETTINGS = {"data": "auto", "image_size": 192, "limit": 0, "validation": "val"}
SETTINGS |= {"accelerator": "auto", "backend": "auto", "dtype": "auto"}


@pytest.mark.parametrize(
    ("changes", "images"),
    [
        ({}, 12753),
        ({"limit": 500}, 500),
        ({"validation": "none"}, 12753 + 3712),
        ({"validation": "fold:1/5"}, 12753 + 3712 - 3293),
        ({"validation": "none", "limit": 500}, 1000),
        ({"data": "auto, me/roses"}, 12753),
    ],
)
def test_the_competitions_sizes_stand_for_data_that_lies_on_kaggle(changes, images):
    assert programs._data(SETTINGS | changes) == (104, images)


def test_data_that_is_not_at_the_desk_has_an_unknown_number_of_classes():
    with pytest.raises(SettingError, match="give data=FOLDER"):
        programs._data(SETTINGS | {"data": "me/roses"})


def test_a_run_on_another_device_is_refused():
    with pytest.raises(SettingError, match="accelerator=gpu does not run on a TPU"):
        programs.device_for(8, "TPU", SETTINGS | {"accelerator": "gpu"})
