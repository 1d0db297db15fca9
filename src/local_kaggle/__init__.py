"""A stand-in for Kaggle on loopback, for rehearsals and tests with the unmodified `kaggle` client.

    from local_kaggle import LocalKaggle, ServerLimits

    with LocalKaggle(tmp_path, limits=ServerLimits(page_size=20)) as kaggle:
        subprocess.run(["kaggle", "kernels", "push", "-p", folder],
                       env=kaggle.client_environment())

It stores kernels, versions, sessions, datasets, submissions and quota in one folder, and runs what
is pushed. It has never been compared with Kaggle itself: it behaves as Kaggle does according to
public reports and the client's source. A session on "TPU" has eight CPU devices.

The names below are the public interface; README.md beside this file shows how to use them. The
modules import the Python library, Starlette and kagglesdk's types, never kernelkit or petals.
"""

from local_kaggle.catalogue import fill_catalogue
from local_kaggle.errors import LocalKaggleError
from local_kaggle.execution.sessions import Rerun
from local_kaggle.execution.walls import why_not_isolated
from local_kaggle.faults.schedule import A_PUSH, POSSIBLE, Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

__all__ = [
    "A_PUSH",
    "POSSIBLE",
    "Fault",
    "FaultKind",
    "FaultSchedule",
    "LocalKaggle",
    "LocalKaggleError",
    "Rerun",
    "ServerLimits",
    "fill_catalogue",
    "why_not_isolated",
]
