"""Pretrained weights that Keras downloads, and what a run does where they cannot be had."""

from collections.abc import Callable
from typing import Any

from petals.errors import WeightsError
from petals.kaggle import at_the_desk, on_kaggle


def downloaded(
    build: Callable[[], Any], name: str, files: str = "its weights", *, chosen: bool = True
) -> Any:
    """What `build` returns, which downloads weights from ImageNet; None if a run can do without.

    `name`: of the network; `files`: the names of the files with its weights; `chosen`: whether the
    user asked for these weights. If not, a run at the desk can go on without: a small network
    learns from scratch instead. Otherwise raises `WeightsError`.
    """
    try:
        return build()
    except Exception as error:  # urllib, http and ssl raise different kinds
        if at_the_desk() and not chosen:
            return None
        # A session, rehearsed or not, does not have the local folders.
        attach = f"Attach a Kaggle dataset or model with {files}"
        way = attach if on_kaggle() else f"Put {files} into weights/"
        raise WeightsError(
            f"the ImageNet weights of {name} could not be downloaded ({type(error).__name__}). "
            f"{way}, or set weights='none'"
        ) from None
