# ruff: noqa: E402  (as in any notebook, imports follow the parameters)
# %% [markdown]
# # The competition tutorial's recipe, for `benchmarks.sweep`
#
# Its input pipeline, the frozen backbone inside the model and so run again in every epoch, its
# twelve epochs, curves, a confusion matrix and a submission. The learning rate and the batch size
# are keras.io's, with which it scores what the kit's head does; with its own it stays far below.

# %% tags=["parameters"]
root = ""  # the folder of the dataset
weights = ""  # the file of MobileNet-0.75's weights
output = ""  # where its files go
image_size = 192  # pixels a side
epochs = 12  # passes over the photos
batch_size = 64  # photos a step
learning_rate = 1e-2  # its peak
schedule = "cosine"  # cosine | constant: its shape
dropout = 0.0  # share of the features left out while training
label_smoothing = 0.0  # share of each label spread over all classes

# %%
import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib import pyplot as plt
from sklearn.metrics import confusion_matrix, f1_score
from tensorflow import keras

from benchmarks.pipeline import tutorial
from petals.data import pipeline
from petals.data.shards import Split
from petals.data.source import Source
from petals.models.backbones import BACKBONES
from petals.models.weights import load_file

train, val, test = (Split.find(root, image_size, part) for part in ("train", "val", "test"))
names = Source(root, "folder").class_names


def one_hot(image, label):
    return image, tf.one_hot(label, len(names))


# %%
backbone = BACKBONES["MobileNet-0.75"].build(image_size)
load_file(backbone, Path(weights), "MobileNet-0.75")
backbone.trainable = False
model = keras.Sequential(
    [
        keras.Input((image_size, image_size, 3)),
        keras.layers.Rescaling(2.0, offset=-1.0),
        backbone,
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dropout(dropout),
        keras.layers.Dense(len(names), activation="softmax"),
    ]
)
steps = train.count // batch_size
falling = keras.optimizers.schedules.CosineDecay(learning_rate, epochs * steps)
model.compile(
    keras.optimizers.Adam(falling if schedule == "cosine" else learning_rate),
    keras.losses.CategoricalCrossentropy(label_smoothing=label_smoothing),
    metrics=["accuracy"],
)
history = model.fit(
    tutorial(train, batch_size).map(one_hot),
    epochs=epochs,
    steps_per_epoch=steps,
    validation_data=tutorial(val, batch_size, repeat=False).map(one_hot),
    shuffle=False,
    verbose=2,
)

# %%
for measure in ("loss", "accuracy"):
    plt.figure()
    plt.plot(history.history[measure])
    plt.plot(history.history[f"val_{measure}"])
    plt.title(measure)


# %%
def predict(split):
    rows = [
        np.asarray(model.predict_on_batch(batch["image"] / np.float32(255)))
        for batch in pipeline.ordered(split, batch_size).as_numpy_iterator()
    ]
    return pipeline.cut(np.concatenate(rows), split).argmax(axis=1)


labels, _ = val.labels_and_ids()
guesses = predict(val)
macro_f1 = f1_score(labels, guesses, labels=range(len(names)), average="macro", zero_division=0)
plt.figure()
plt.matshow(confusion_matrix(labels, guesses))
(Path(output) / "metrics.json").write_text(json.dumps({"macro_f1": float(macro_f1)}))

# %%
_, ids = test.labels_and_ids()
lines = [f"{id},{label}" for id, label in zip(ids, predict(test), strict=True)]
(Path(output) / "submission.csv").write_text("\n".join(["id,label", *lines]))
