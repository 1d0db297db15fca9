"""The names of classes in label order: the competition's 104, and a dataset's own list."""

import json
from typing import Any

import tensorflow as tf

from petals.errors import DataError

_NAMES = """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, wild geranium, tiger lily,
moon orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea,
spear thistle, yellow iris, globe-flower, purple coneflower, peruvian lily, balloon flower, giant
white arum lily, fire lily, pincushion flower, fritillary, red ginger, grape hyacinth, corn poppy,
prince of wales feathers, stemless gentian, artichoke, sweet william, carnation, garden phlox, love
in the mist, cosmos, alpine sea holly, ruby-lipped cattleya, cape flower, great masterwort, siam
tulip, lenten rose, barberton daisy, daffodil, sword lily, poinsettia, bolero deep blue,
wallflower, marigold, buttercup, daisy, common dandelion, petunia, wild pansy, primula, sunflower,
lilac hibiscus, bishop of llandaff, gaura, geranium, orange dahlia, pink-yellow dahlia, cautleya
spicata, japanese anemone, black-eyed susan, silverbush, californian poppy, osteospermum, spring
crocus, iris, windflower, tree poppy, gazania, azalea, water lily, rose, thorn apple, morning
glory, passion flower, lotus, toad lily, anthurium, frangipani, clematis, hibiscus, columbine,
desert-rose, tree mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, pink
quill, foxglove, bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower,
trumpet creeper, blackberry lily, common tulip, wild rose
"""
CLASSES = tuple(_NAMES.strip().replace("\n", " ").split(", "))
FILE_NAME = "classes.json"  # a user's own list, beside the tfrecords-jpeg-SxS folders
SUBMISSION = "submission.json"  # beside it: what a submission says in the place of a label


def read(path: str) -> tuple[str, ...]:
    """The names in a `classes.json`; raises `DataError` unless it is a JSON list of strings."""
    names = read_json(path)
    if not (names and isinstance(names, list) and all(isinstance(n, str) for n in names)):
        raise DataError(f"{path} must be a JSON list of class names in label order")
    return tuple(names)


def read_json(path: str) -> Any:
    """The value in a JSON file, anywhere that TensorFlow reads; None if it is no JSON."""
    try:
        with tf.io.gfile.GFile(path, "rb") as file:  # of bytes, a byte order mark is skipped
            return json.loads(file.read())
    except ValueError:
        return None
