from __future__ import annotations

import pytest
from kagglesdk.kernels.types import kernels_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.wire import decode


def test_a_request_is_read_as_the_sdk_writes_it():
    sent = types.ApiSaveKernelRequest()
    sent.slug, sent.is_private, sent.session_timeout_seconds = "a/kernel", False, 60
    read = decode(types.ApiSaveKernelRequest, sent.to_json().encode())
    assert (read.slug, read.is_private, read.session_timeout_seconds) == ("a/kernel", False, 60)


@pytest.mark.parametrize("body", [b"{", b'{"kernelExecutionType": "x"}'])
def test_what_cannot_be_read_is_a_400(body):
    with pytest.raises(HTTPException) as caught:
        decode(types.ApiSaveKernelRequest, body)
    assert caught.value.status_code == 400
