"""Whether a notebook without metadata gets the internet: by what its code calls."""

from dataclasses import replace

from kernelkit.push.checks.code.doubts import needs_internet
from kernelkit.push.planned.plan import Plan


def with_internet(plan: Plan) -> Plan:
    """The same plan; one of assumed settings has the internet if its code needs it.

    A request without `internet` wants none, whatever the code needs.
    """
    request = plan.request
    if request.assumed is None or not request.internet or not needs_internet(plan):
        return plan
    return replace(plan, metadata=plan.metadata.with_values(enable_internet=True))
