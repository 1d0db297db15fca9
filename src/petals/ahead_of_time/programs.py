"""The programs that a run of 02_train has compiled for its TPU: functions and the shapes they get.

The models are those that the notebook builds and compiles, which a test compares. Nothing is
downloaded: a program is the same for all values of the weights.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import ShapeDtypeStruct as Shape
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.accelerators.detect import POLICIES, Accelerator
from petals.augment.augmentation import augmentation
from petals.augment.draws import COLUMNS
from petals.augment.layer import augmenting
from petals.data.classes import CLASSES
from petals.data.pipeline import CHANGES, IMAGE
from petals.data.source import find_source
from petals.errors import SettingError
from petals.models.build import Classifier, build, set_trainable
from petals.settings import LOGISTIC, NONE, Values, fold_of, more_backbones, resolve
from petals.training import features
from petals.training.optimization import compile_model, learning_rates

COMPETITION_IMAGES = 12753, 3712  # of its train and val splits, at each size
TRAINING, PREDICTION, FEATURES = "training step", "prediction", "feature extraction"


@dataclass(frozen=True)
class Program:
    """A function of (state, batch) that is compiled, with the shapes of what it gets.

    `state`: shapes of variables that every device has whole, (trained, others) of a prediction, of
    a training step also (optimizer, metrics); `batch`: shapes whose first axis, of `images`, the
    devices share. The function returns (results, new state); `model` is whose variables they are.
    """

    name: str
    function: Callable[..., Any]
    model: keras.Model
    state: tuple[list[Shape], ...]
    batch: tuple[Any, ...]
    images: int
    steps: int = 0  # calls an epoch, where the program trains


def device_for(devices: int, name: str, settings: Values) -> Accelerator:
    """The device as `petals.accelerators.detect.detect` would find it on a Kaggle TPU.

    Sets the dtype policy. Raises `SettingError` where the run asks for another device or backend.
    """
    if settings["accelerator"] not in ("auto", "tpu"):
        raise SettingError(
            f"accelerator={settings['accelerator']} does not run on a TPU: leave it out, or give "
            "accelerator=tpu"
        )
    if settings["backend"] == keras_backend.TENSORFLOW:
        raise SettingError(
            "backend=tensorflow: the programs that are checked are those of Keras on JAX, which "
            "runs on Kaggle's TPU: leave it out"
        )
    dtype = settings["dtype"] if settings["dtype"] != "auto" else POLICIES["tpu"]
    keras.mixed_precision.set_global_policy(dtype)
    return Accelerator("tpu", name, devices, keras_backend.JAX, dtype=dtype)


def of_run(settings: Values, device: Accelerator, only: Sequence[str] = ()) -> Iterator[Program]:
    """The programs of a run, the training step first; each is built when its turn comes.

    The step of a head alone is not among them: it always fits. `settings`: all parameters of
    02_train; `only`: names, to leave the others out. Raises the errors of `petals.settings.resolve`
    and `petals.models.build`.
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
        packed=settings["weights"] != "none",
        beside=dict.fromkeys(more_backbones(settings)),
    )
    set_trainable(classifier, settings["fine_tune"])  # refuses layers that are not there
    set_trainable(classifier, "none")
    only = only or (TRAINING, PREDICTION, FEATURES)
    tuned = settings["fine_tune"] != "none"  # a head alone is applied to stored features
    if tuned and TRAINING in only:
        yield _training(settings, classifier, num_classes, images, device.replicas)
    if tuned and PREDICTION in only:
        batch = settings["batch_size"] * device.replicas
        yield _predicting(PREDICTION, classifier.model, batch)
    if settings["head"] != NONE and FEATURES in only:
        yield _predicting(
            FEATURES, classifier.features, features.batch_size(device, settings["image_size"])
        )


def _data(settings: Values) -> tuple[int, int]:
    """(classes, training images) of the run's first source, the competition's if it is on Kaggle.

    The images of further sources do not count: on Kaggle, these are not on this machine.
    """
    name = settings["data"].split(",")[0]
    size = settings["image_size"]
    limit = settings["limit"]
    if name in ("auto", "embedded"):
        classes = len(CLASSES)
        train, val = COMPETITION_IMAGES
    elif Path(name.partition("?")[0]).expanduser().is_dir() or "://" in name:
        source = find_source(name, size)
        splits = source.splits(size)
        classes = len(source.class_names)
        train = splits["train"].count
        val = splits["val"].count if "val" in splits else 0
    else:
        raise SettingError(
            f"data={name} is not on this machine, and its number of classes shapes the program: "
            "give data=FOLDER with the same files"
        )
    if limit:
        train = min(train, limit)
        val = min(val, limit)
    if settings["validation"] != "val":
        fold = fold_of(settings["validation"])
        train += val
        if fold:
            train -= train // fold[1]
    return classes, train


def _training(
    settings: Values,
    classifier: Classifier,
    num_classes: int,
    train_images: int,
    replicas: int,
) -> Program:
    """The step that Keras's `fit` compiles, of the model that the notebook compiles."""
    size = settings["image_size"]
    batch = settings["batch_size"] * replicas
    steps = max(1, train_images // batch)
    set_trainable(
        classifier, settings["fine_tune"], freeze_batch_norm=settings["weights"] != "none"
    )
    model = classifier.model
    images: Any = Shape((batch, size, size, 3), np.uint8)
    augment = augmentation(settings["augment"], settings["mix"])
    if augment is not None:  # in the step, in the way that suits a TPU
        model = augmenting(model, augment, dense=True)
        images = {IMAGE: images, CHANGES: Shape((batch, len(COLUMNS)), np.float32)}
    rates = learning_rates(
        settings["schedule"],
        settings["epochs"],
        steps,
        learning_rate=settings["learning_rate"],
        replicas=replicas,
    )
    names = ("weight_decay", "label_smoothing", "layer_decay")
    options = {name: settings[name] for name in names}
    compile_model(model, rates, network=classifier.backbone, **options)
    data = images, Shape((batch, num_classes), np.float32)
    sample = jax.tree.map(lambda array: np.zeros((2, *array.shape[1:]), array.dtype), data)
    model._symbolic_build(data_batch=sample)  # makes the metrics' variables, as `fit` does
    keras_backend.build_optimizer(model)
    variables = (model.optimizer.variables, model.metrics_variables)
    state = (*_state(model), *map(_shapes, variables))
    return Program(TRAINING, model.train_step, model, state, data, batch, steps)


def _predicting(name: str, model: keras.Model, batch: int) -> Program:
    """The step that Keras's `predict` compiles."""

    def predict_step(state: Any, data: Any) -> tuple[Any, Any]:
        outputs, others = model.predict_step(state, data)
        return outputs, (state[0], others)

    images = Shape((batch, *model.input_shape[1:]), np.uint8)
    return Program(name, predict_step, model, _state(model), (images,), batch)


def _state(model: keras.Model) -> tuple[list[Shape], list[Shape]]:
    return _shapes(model.trainable_variables), _shapes(model.non_trainable_variables)


def _shapes(variables: list[Any]) -> list[Shape]:
    return [Shape(variable.shape, variable.value.dtype) for variable in variables]
