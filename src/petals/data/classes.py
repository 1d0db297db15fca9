"""The names of classes in label order: the competition's 104, and a dataset's own list."""

import json
import re
import unicodedata
from collections.abc import Iterable
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
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


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


def in_order(names: Iterable[str]) -> list[str]:
    """The names sorted: as numbers if all are, such as 7, 07 or 7.0, else as texts."""
    names = sorted(names)
    if are_numbers(names):
        names.sort(key=float)
    return names


def are_numbers(names: Iterable[str]) -> bool:
    """Whether all names are numbers, such as 7, 07 or 7.0."""
    return all(_NUMBER.fullmatch(name) for name in names)


def has_unprintable(name: str) -> bool:
    """Whether a name has characters that no text shows: of control, of lines, of no encoding.

    What joins letters in Persian, Hindi or an emoji is not among them.
    """
    return any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name)


def normalised(name: str) -> str:
    """The name in Unicode's composed form (NFC), in which equal texts have equal letters."""
    return unicodedata.normalize("NFC", name)
