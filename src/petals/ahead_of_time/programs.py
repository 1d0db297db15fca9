"""The programs that a run of 02_train has compiled for its TPU: functions and the shapes they get.

The models come from `petals.training.plan.plan_run`, from which the notebook has them. Nothing is
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

from petals.accelerators import compilation, keras_backend
from petals.accelerators.detect import POLICIES, Accelerator
from petals.augment.augmentation import CHANGES, IMAGE, augmentation
from petals.augment.draws import COLUMNS
from petals.augment.layer import augmenting
from petals.data.classes import CLASSES
from petals.data.shards import Split
from petals.data.source import find_source
from petals.errors import SettingError
from petals.settings import GRADIENT, NONE, resolve
from petals.training import features, schedules
from petals.training.compile import compile_model
from petals.training.head import build_head, head_batch
from petals.training.plan import RunPlan, plan_run
from petals.training.remat import rematerialising

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


def of_run(
    settings: Mapping[str, Any], device: Accelerator, only: tuple[str, ...] = ()
) -> Iterator[Program]:
    """The programs of a run, the training step first; each is built when it is asked for.

    `settings`: all parameters of 02_train; `only`: names, to leave the others out. Raises the
    errors of `petals.settings.resolve` and `petals.training.plan.plan_run`.
    """
    settings = resolve(settings)
    num_classes, images = _data(settings)
    plan = plan_run(settings, num_classes, images, device, weights="none")
    compilation.optimize(settings["optimization_level"])
    makers: dict[str, Callable[[], Program]] = {}
    tunes = settings["fine_tune"] != "none" and settings["epochs"] > 0
    if tunes:
        makers[TRAINING] = partial(_training, plan, num_classes)
    if tunes:  # a head alone is applied to stored features
        makers[PREDICTION] = partial(
            _predicting, plan.classifier.model, PREDICTION, plan.batch_size
        )
    if settings["head"] != NONE:
        batch = features.batch_size(device)
        makers[FEATURES] = partial(_predicting, plan.classifier.features, FEATURES, batch)
    if settings["head"] == GRADIENT:  # a logistic head is fitted on the host
        makers[HEAD] = partial(_head, plan, num_classes, images * settings["views"])
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


def _training(plan: RunPlan, num_classes: int) -> Program:
    plan.unfreeze()
    model, size = plan.classifier.model, plan.settings["image_size"]
    images: Any = Shape((plan.batch_size, size, size, 3), np.uint8)
    augment = augmentation(plan.settings["augment"], plan.settings["mix"])
    if augment is not None:  # in the step, in the way that suits a TPU
        model = augmenting(model, augment, dense=True)
        images = {IMAGE: images, CHANGES: Shape((plan.batch_size, len(COLUMNS)), np.float32)}
    model = rematerialising(model) if plan.settings["remat"] else model
    compile_model(model, plan.rates, **plan.compiling)
    labels = Shape((plan.batch_size, num_classes), np.float32)
    if plan.settings["custom_loop"]:
        return replace(_custom_step(model, images, labels), steps=plan.steps)
    return replace(_fit_step(TRAINING, model, images, labels), steps=plan.steps)


def _head(plan: RunPlan, num_classes: int, images: int) -> Program:
    settings, batch = plan.settings, head_batch(images, plan.replicas)
    width = plan.classifier.features.output_shape[-1]
    model = build_head(width, num_classes, settings["dropout"])
    rates = schedules.rates("cosine", settings["head_epochs"], max(1, images // batch))
    compile_model(model, rates, **plan.compiling)
    pooled, labels = (Shape((batch, count), np.float32) for count in (width, num_classes))
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
        _sizes(model),
    )


def _custom_step(model: keras.Model, images: Any, labels: Shape) -> Program:
    """The step of `petals.training.custom_loop_jax`."""
    from petals.training import custom_loop_jax

    keras_backend.build_optimizer(model)
    step = custom_loop_jax.step_of(model)
    state = {
        "trainable_variables": shapes(model.trainable_variables),
        "non_trainable_variables": shapes(model.non_trainable_variables),
        "optimizer_variables": shapes(model.optimizer.variables),
    }

    def function(state: Any, batch: Any) -> tuple[Any, Any]:
        state, *results = step(state, *batch)
        return results, state

    trained, others, optimizer = state.values()
    return Program(
        TRAINING,
        function,
        model,
        state,
        {"parameters": [*trained, *others], "optimizer": optimizer},
        (images, labels),
        labels.shape[0],
        _sizes(model),
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


def _sizes(model: keras.Model) -> tuple[int, ...]:
    return tuple(int(np.prod(variable.shape)) for variable in model.trainable_variables)
