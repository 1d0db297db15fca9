"""Whether a notebook without metadata gets the internet: by what its code calls."""

from dataclasses import replace

from kernelkit.push.checks.doubts import needs_internet
from kernelkit.push.plan import plan_push
from kernelkit.push.request import PushRequest


def with_internet(request: PushRequest) -> PushRequest:
    """The same request, whose assumed settings enable the internet if its code needs it.

    A request with settings of its own stays as it is. Raises what `plan_push` raises.
    """
    if request.assumed is None or not needs_internet(plan_push(request)):
        return request
    kernel = request.assumed.metadata.with_values(enable_internet=True)
    return replace(request, assumed=replace(request.assumed, metadata=kernel))
