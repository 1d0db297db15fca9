"""Whether bfloat16 pays on a CPU: measured for the backbone at hand, and remembered.

It depends on the network: on one server with AVX512-BF16, VGG16's forward pass ran 2.3 times
as fast as in float32, EfficientNetB0's took 1.6 times as long.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals import storage
from petals.accelerators.detect import Accelerator
from petals.errors import StorageError
from petals.kaggle import cache_folder
from petals.models.build import build
from petals.training import features

BFLOAT16 = "mixed_bfloat16"
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # of /proc/cpuinfo, on x86 and Arm
FASTER = 1.2  # times as fast it must be: less may be a moment's chance
BATCH = 4  # images
SECONDS = 2.0  # to measure for, besides a first pass of each kind


def choose(
    device: Accelerator, backbone: str, image_size: int, say: Callable[[str], None] = print
) -> str:
    """Set the dtype policy for extracting features with a backbone, and return it.

    Call it before the seed is set and the model is built, when the dtype is left to the kit.
    Anything but a CPU with instructions for bfloat16 keeps what `detect` chose, as does
    fine-tuning, of which the forward pass that is measured here is only a part.
    """
    if device.kind != "cpu" or device.hosts > 1 or not supported():  # hosts might disagree
        return device.dtype
    ratio = _remembered(device, backbone, image_size)
    if ratio >= FASTER:
        keras.mixed_precision.set_global_policy(BFLOAT16)
        device.dtype = BFLOAT16
    say(f"{backbone} in bfloat16 is {ratio:.2f} times as fast as in float32: {device.dtype}")
    return device.dtype


def supported() -> bool:
    """Whether this CPU has instructions for bfloat16."""
    try:
        words = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return not FLAGS.isdisjoint(words)


def speedup(backbone: str, image_size: int) -> float:
    """How many times as fast the forward pass is in bfloat16; leaves the policy as it was."""
    before = keras.mixed_precision.global_policy()
    try:
        passes = [_forward(backbone, image_size, policy) for policy in ("float32", BFLOAT16)]
    finally:
        keras.mixed_precision.set_global_policy(before)
    pixels = np.random.default_rng(0).integers(0, 256, (BATCH, image_size, image_size, 3))
    batches = tf.data.Dataset.from_tensors(tf.constant(pixels, tf.uint8)).repeat(2)
    for run in passes:
        list(run(batches))
    best = [float("inf")] * 2
    end = time.monotonic() + SECONDS
    while best[1] == float("inf") or time.monotonic() < end:
        for number, run in enumerate(passes):  # in turn, as other work on the machine varies
            begun = time.perf_counter()
            list(run(batches))
            best[number] = min(best[number], time.perf_counter() - begun)
    return best[0] / best[1]


def _forward(backbone: str, image_size: int, policy: str) -> features.Forward:
    keras.mixed_precision.set_global_policy(policy)
    network = build(backbone, image_size, 2, weights="none").features
    return features.frozen(network, BATCH)


def _remembered(device: Accelerator, backbone: str, image_size: int) -> float:
    key = repr((backbone, image_size, device.name, tf.__version__, keras.__name__))
    name = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    path = cache_folder() / "precision" / f"{name}.json"
    try:
        return float(json.loads(path.read_text())["speedup"])
    except (OSError, ValueError, KeyError, TypeError):
        ratio = speedup(backbone, image_size)
    try:
        storage.write_json(path, {"speedup": ratio, "of": key})
    except StorageError as error:
        print(f"  the measurement is not kept: {error}")
    return ratio
