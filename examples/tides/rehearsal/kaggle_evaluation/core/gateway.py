"""What a host builds a gateway on: the batches are asked about, checked, and written down."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc

from kaggle_evaluation.core import relay
from kaggle_evaluation.core.messages import is_frame

RERUN = "KAGGLE_IS_COMPETITION_RERUN"
SHARED = Path("/kaggle/shared")
# The numbers of the errors that a gateway may end with.
ERRORS = (
    "UNSPECIFIED",
    "SERVER_NEVER_STARTED",
    "SERVER_CONNECTION_FAILED",
    "SERVER_RAISED_EXCEPTION",
    "SERVER_MISSING_ENDPOINT",
    "GATEWAY_RAISED_EXCEPTION",
    "INVALID_SUBMISSION",
    "GRPC_DEADLINE_EXCEEDED",
)
LONGEST_DETAILS = 8000  # characters


class GatewayError(Exception):
    """Ends the evaluation; `name` is one of `ERRORS`."""

    def __init__(self, name: str, details: str = "") -> None:
        super().__init__(f"{name}: {details}")
        self.name = name
        self.details = details


class Gateway:
    """Asks for predictions batch by batch; a host says which batches, and how they are written.

    In a rerun it asks the host `inference_server`, else the process that it runs in.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = relay.Client("inference_server" if RERUN in os.environ else "localhost")

    def batches(self) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        """What `predict` gets, and the ids of the rows that it has to answer for."""
        raise NotImplementedError

    def write(self, ids: list[Any], predictions: list[Any]) -> None:
        """Write the submission, from the batches' ids and answers."""
        raise NotImplementedError

    def run(self) -> None:
        """Ask for every batch; in a rerun the end is written to result.json, else it is raised."""
        error = None
        try:
            ids, predictions = [], []
            for batch, of_rows in self.batches():
                predictions.append(self._predict(batch))
                _check(predictions[-1], len(of_rows))
                ids.append(of_rows)
            self.write(ids, predictions)
        except GatewayError as failure:
            error = failure
        except Exception:
            error = GatewayError("GATEWAY_RAISED_EXCEPTION", traceback.format_exc())
        self.client.close()
        if RERUN in os.environ:
            _write_result(error)
        elif error:
            raise error

    def share(self, file: Path) -> Path:
        """Show a file to the notebook: the path under which it may read it."""
        place = SHARED / file.resolve().relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if RERUN not in os.environ:
            shutil.copy(file, place)
            return place
        place.touch()
        subprocess.run(["mount", "--bind", str(file), str(place)], check=True)  # noqa: S607
        return place

    def _predict(self, batch: Sequence[Any]) -> Any:
        try:
            return self.client.send("predict", *batch)
        except relay.NeverStartedError:
            raise GatewayError("SERVER_NEVER_STARTED") from None
        except grpc.RpcError as error:
            text = str(error.details())
            if relay.NO_ENDPOINT in text:
                raise GatewayError("SERVER_MISSING_ENDPOINT", text) from None
            if raised := re.match(r"Exception calling application: (.*)", text, re.DOTALL):
                raise GatewayError("SERVER_RAISED_EXCEPTION", raised[1]) from None
            late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            name = "GRPC_DEADLINE_EXCEEDED" if late else "SERVER_CONNECTION_FAILED"
            raise GatewayError(name, text) from None


def _check(prediction: Any, rows: int) -> None:
    """Raise for an answer of a wrong type or number of rows.

    Without this check a notebook could answer with nothing until it has seen every batch.
    """
    if isinstance(prediction, str | bool | int | float):
        answered = 1
    elif is_frame(prediction) or isinstance(prediction, list):
        answered = len(prediction)
    else:
        raise GatewayError("INVALID_SUBMISSION", f"predict returned {type(prediction).__name__}")
    if answered != rows:
        raise GatewayError("INVALID_SUBMISSION", f"expected {rows} rows, not {answered}")


def _write_result(error: GatewayError | None) -> None:
    result: dict[str, Any] = {"Succeeded": error is None}
    if error:
        result["ErrorType"] = ERRORS.index(error.name)
        result["ErrorName"] = error.name
        result["ErrorDetails"] = error.details[:LONGEST_DETAILS]
    Path("result.json").write_text(json.dumps(result))


class InferenceServer:
    """What a notebook starts with its `predict`; a competition says which gateway tries it."""

    gateway: type[Gateway]

    def __init__(self, *endpoints: Any) -> None:
        self.server = relay.make_server(*endpoints)

    def serve(self) -> None:
        """Answer until the end of the session."""
        self.server.start()
        if RERUN in os.environ:
            self.server.wait_for_termination()

    def run_local_gateway(self, folder: str | Path) -> None:
        """Run the gateway in this process, on a folder with the competition's files."""
        self.server.start()
        try:
            self.gateway(Path(folder)).run()
        finally:
            self.server.stop(0)
