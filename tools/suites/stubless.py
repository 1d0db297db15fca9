"""A plugin of pytest: kagglehub's unit tests meet the local Kaggle on port 7777, not their stubs.

The stubs of Colab and of Kaggle's notebooks stay: they stand for other servers.
"""

import os

from tests.server_stubs import serv  # of the checkout in which pytest runs

STUBS = {
    f"tests.server_stubs.{name}_stub"
    for name in (
        "auth",
        "competition_download",
        "dataset_download",
        "dataset_upload",
        "model_download",
        "model_upload",
        "notebook_output_download",
    )
}


NOWHERE = "http://127.0.0.1:9"  # nothing listens there


class _Served:
    """The local Kaggle serves all tests; after `shutdown` they do not reach it any more."""

    def __init__(self) -> None:
        os.environ.pop("http_proxy", None)

    def shutdown(self) -> None:
        """Break the connection."""
        os.environ["http_proxy"] = NOWHERE


_start = serv.start_server


def _start_server(app, *variable):
    if app.import_name in STUBS and not variable:
        return _Served()
    return _start(app, *variable)


serv.start_server = _start_server
