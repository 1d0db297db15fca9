from __future__ import annotations

from datetime import timedelta

import pytest
from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelWorkerStatus
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import decode, encode, fill


def test_durations_of_more_than_a_day_survive():
    quota = fill(types.ApiAcceleratorQuota(), total_time_allowed=timedelta(hours=30))
    answer = fill(types.ApiGetAcceleratorQuotaStatisticsResponse(), gpu_quota=quota)
    values = encode(answer)
    assert values["gpuQuota"]["totalTimeAllowed"] == "108000s"
    read = types.ApiGetAcceleratorQuotaStatisticsResponse.from_dict(values)
    assert read.gpu_quota.total_time_allowed == timedelta(hours=30)


def test_enums_go_by_name_and_defaults_are_left_out():
    answer = types.ApiGetKernelSessionStatusResponse()
    assert encode(fill(answer, status=KernelWorkerStatus.RUNNING)) == {"status": "RUNNING"}
    assert encode(types.ApiGetKernelSessionStatusResponse()) == {}


def test_a_request_is_read_as_the_sdk_writes_it():
    sent = types.ApiSaveKernelRequest()
    sent.slug, sent.is_private, sent.session_timeout_seconds = "a/kernel", False, 60
    read = decode(types.ApiSaveKernelRequest, sent.to_json().encode())
    assert (read.slug, read.is_private, read.session_timeout_seconds) == ("a/kernel", False, 60)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"slug": {}}', b'{"kernelExecutionType": "x"}'])
def test_what_cannot_be_read_is_a_400(body):
    with pytest.raises(HTTPException) as caught:
        decode(types.ApiSaveKernelRequest, body)
    assert caught.value.status_code == 400
