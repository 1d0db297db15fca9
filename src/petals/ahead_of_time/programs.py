"""The programs that a run of 02_train has compiled for its TPU: functions and the shapes they get.

The models are those that the notebook builds and compiles, which a test compares. Nothing is
downloaded: a program is the same for all values of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import ShapeDtypeStruct as Shape
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.accelerators.detect import POLICIES, Accelerator
from petals.augment.augmentation import CHANGES, IMAGE, augmentation
from petals.augment.draws import COLUMNS
from petals.augment.layer import augmenting
from petals.data.classes import CLASSES
from petals.data.shards import Split
from petals.data.source import find_source
from petals.errors import SettingError
from petals.models.build import Classifier, build, set_trainable
from petals.settings import GRADIENT, LOGISTIC, NONE, resolve
from petals.training import features
from petals.training.head import HEAD_EPOCHS, build_head, head_batch
from petals.training.optimization import compile_model, learning_rates

COMPETITION_IMAGES = 12753  # of its train split, at each size
TRAINING, PREDICTION = "training step", "prediction"
FEATURES, HEAD = "feature extraction", "head's training step"


@dataclass(frozen=True)
class Program:
    """A function of (state, batch) that is compiled, with the shapes of what it gets.

    `state`: {"parameters" | "optimizer" | "metrics": shapes}, which every device has whole, in
    the structure that `function` takes as `structure`; `batch`: shapes whose first axis the
    devices share. The function returns (results, new state); `model` is whose variables they are.
    """

    name: str
    function: Callable[..., Any]
    model: keras.Model
    structure: Any
    state: Mapping[str, Sequence[Shape]]
    batch: tuple[Any, ...]
    images: int
    trainable: tuple[int, ...] = ()  # numbers in each variable that is trained
    steps: int = 0  # calls an epoch, where the program trains


def device_for(devices: int, name: str, settings: Mapping[str, Any]) -> Accelerator:
    """The device as `petals.accelerators.detect.detect` would find it on a Kaggle TPU.

    Sets the dtype policy. Raises `SettingError` where the run asks for another device.
    """
    if settings["accelerator"] not in ("auto", "tpu"):
        raise SettingError(
            f"accelerator={settings['accelerator']} does not run on a TPU: leave it out, or give "
            "accelerator=tpu"
        )
    dtype = settings["dtype"] if settings["dtype"] != "auto" else POLICIES["tpu"]
    keras.mixed_precision.set_global_policy(dtype)
    return Accelerator("tpu", name, devices, keras_backend.JAX, dtype=dtype)


@dataclass(frozen=True)
class _Run:
    """What a run of 02_train trains, built as the notebook builds it."""

    settings: Mapping[str, Any]
    classifier: Classifier
    num_classes: int
    images: int  # of the train split
    replicas: int

    @property
    def batch_size(self) -> int:
        return int(self.settings["batch_size"] * self.replicas)

    @property
    def steps(self) -> int:
        return max(1, self.images // self.batch_size)

    def compile(self, model: keras.Model, rates: np.ndarray) -> None:
        names = ("weight_decay", "label_smoothing")
        compile_model(model, rates, **{name: self.settings[name] for name in names})


def of_run(
    settings: Mapping[str, Any], device: Accelerator, only: tuple[str, ...] = ()
) -> Iterator[Program]:
    """The programs of a run, the training step first; each is built when its turn comes.

    `settings`: all parameters of 02_train; `only`: names, to leave the others out. Raises the
    errors of `petals.settings.resolve` and `petals.models.build`.
    """
    settings = resolve(settings)
    num_classes, images = _data(settings)
    classifier = build(
        settings["backbone"],
        settings["image_size"],
        num_classes,
        weights="none",
        dropout=settings["dropout"],
        depths=settings["head"] == LOGISTIC,
    )
    set_trainable(classifier, settings["fine_tune"])  # refuses layers that are not there
    set_trainable(classifier, "none")
    run = _Run(settings, classifier, num_classes, images, device.replicas)
    makers: dict[str, Callable[[], Program]] = {}
    if settings["fine_tune"] != "none":
        makers[TRAINING] = partial(_training, run)
        # A head alone is applied to stored features.
        makers[PREDICTION] = partial(_predicting, classifier.model, PREDICTION, run.batch_size)
    if settings["head"] != NONE:
        batch = features.batch_size(device)
        makers[FEATURES] = partial(_predicting, classifier.features, FEATURES, batch)
    if settings["head"] == GRADIENT:  # a logistic head is fitted on the host
        makers[HEAD] = partial(_head, run)
    for name, make in makers.items():
        if not only or name in only:
            yield make()


def _data(settings: Mapping[str, Any]) -> tuple[int, int]:
    """(classes, training images) of the run's data; the competition's where it lies on Kaggle."""
    data, size, limit = settings["data"], settings["image_size"], settings["limit"]
    if data in ("auto", "embedded"):
        classes, images = len(CLASSES), COMPETITION_IMAGES
    elif Path(data).expanduser().is_dir() or "://" in data:
        source = find_source(data, size)
        classes = len(source.class_names)
        images = Split.find(source.root, size, "train").count
    else:
        raise SettingError(
            f"data={data} is not on this machine, and its number of classes shapes the program: "
            "give data=FOLDER, where the same files lie"
        )
    return classes, min(images, limit) if limit else images


def _training(run: _Run) -> Program:
    settings, size = run.settings, run.settings["image_size"]
    set_trainable(
        run.classifier, settings["fine_tune"], freeze_batch_norm=settings["weights"] != "none"
    )
    model = run.classifier.model
    images: Any = Shape((run.batch_size, size, size, 3), np.uint8)
    augment = augmentation(settings["augment"], settings["mix"])
    if augment is not None:  # in the step, in the way that suits a TPU
        model = augmenting(model, augment, dense=True)
        images = {IMAGE: images, CHANGES: Shape((run.batch_size, len(COLUMNS)), np.float32)}
    rates = learning_rates(
        settings["schedule"],
        settings["epochs"],
        run.steps,
        learning_rate=settings["learning_rate"],
        replicas=run.replicas,
    )
    run.compile(model, rates)
    labels = Shape((run.batch_size, run.num_classes), np.float32)
    return replace(_fit_step(TRAINING, model, images, labels), steps=run.steps)


def _head(run: _Run) -> Program:
    images = run.images * run.settings["views"]
    batch = head_batch(images, run.replicas)
    width = run.classifier.features.output_shape[-1]
    model = build_head(width, run.num_classes, run.settings["dropout"])
    run.compile(model, learning_rates("cosine", HEAD_EPOCHS, max(1, images // batch)))
    pooled, labels = (Shape((batch, count), np.float32) for count in (width, run.num_classes))
    return _fit_step(HEAD, model, pooled, labels)


def _fit_step(name: str, model: keras.Model, inputs: Any, labels: Shape) -> Program:
    """The step that Keras's `fit` compiles."""
    few = jax.tree.map(lambda one: np.zeros((2, *one.shape[1:]), one.dtype), (inputs, labels))
    model._symbolic_build(data_batch=few)  # makes the metrics' variables, as `fit` does
    keras_backend.build_optimizer(model)
    trained, others = shapes(model.trainable_variables), shapes(model.non_trainable_variables)
    optimizer, metrics = shapes(model.optimizer.variables), shapes(model.metrics_variables)
    return Program(
        name,
        model.train_step,
        model,
        (trained, others, optimizer, metrics),
        {"parameters": [*trained, *others], "optimizer": optimizer, "metrics": metrics},
        (inputs, labels),
        labels.shape[0],
        tuple(int(np.prod(variable.shape)) for variable in model.trainable_variables),
    )


def _predicting(model: keras.Model, name: str, batch: int) -> Program:
    """The step that Keras's `predict` compiles."""

    def predict_step(state: Any, data: Any) -> tuple[Any, Any]:
        outputs, others = model.predict_step(state, data)
        return outputs, (state[0], others)

    trained, others = shapes(model.trainable_variables), shapes(model.non_trainable_variables)
    images = Shape((batch, *model.input_shape[1:]), np.uint8)
    held = {"parameters": [*trained, *others]}
    return Program(name, predict_step, model, (trained, others), held, (images,), batch)


def shapes(variables: list[Any]) -> list[Shape]:
    """The shapes of Keras variables, with their dtypes."""
    return [Shape(variable.shape, variable.value.dtype) for variable in variables]
