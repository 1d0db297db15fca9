"""What a notebook of this competition imports."""

from kaggle_evaluation.core import gateway
from kaggle_evaluation.tides_gateway import TidesGateway


class TidesInferenceServer(gateway.InferenceServer):
    """Serves `predict`, which gets a frame of one day's hours and returns one with `level`."""

    gateway = TidesGateway
