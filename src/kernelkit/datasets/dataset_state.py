"""How an uploaded dataset stands, and the wait until kernels can use it."""

from __future__ import annotations

from kernelkit.errors import NetworkError, RefusedError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.workspace.context import PushContext

NONE = "not there"  # the state of a dataset that does not exist
USELESS = ("failed", "deleted")  # the states of one that no kernel will ever get


def state_of(kaggle: Kaggle, reference: str, until: float | None = None) -> str:
    """How the newest version of a dataset stands: "ready", … and `NONE` where there is no such.

    `until`: when to give up asking. Raises `Failure`.
    """
    from kagglesdk.datasets.types.dataset_api_service import ApiGetDatasetStatusRequest

    request = ApiGetDatasetStatusRequest()
    request.owner_slug, _, request.dataset_slug = reference.partition("/")
    api = kaggle.connection.services.datasets.dataset_api_client
    try:
        answer = kaggle.repeated("GetDatasetStatus", lambda: api.get_dataset_status(request), until)
    except Failure as failure:
        if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
            return NONE
        raise
    return str(answer.status.name).lower()


def await_ready(context: PushContext, kaggle: Kaggle, reference: str, seconds: float) -> None:
    """Wait until kernels can use it: Kaggle unpacks and copies after the upload.

    Raises `Failure`, `RefusedError` where Kaggle could not, `NetworkError` past the time.
    """
    clock = kaggle.retries.clock
    end = clock.now() + seconds
    while clock.now() < end:
        state = state_of(kaggle, reference, end)
        if state == "ready":
            return
        if state in USELESS:
            raise RefusedError(f"Kaggle could not make {reference} usable: it is {state}")
        context.events("progress", f"{reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
    raise NetworkError(
        f"{reference} is not ready yet: see https://www.kaggle.com/datasets/{reference}"
    )
