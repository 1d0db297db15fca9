# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Train a flower classifier
#
# This notebook trains a network to tell 104 kinds of flower apart, for Kaggle's competition
# [Petals to the Metal](https://www.kaggle.com/competitions/tpu-getting-started). It trains in one
# or two phases, measures macro F1 on photos that it was not trained on, and writes a submission.
# The same cells run on a laptop, on GPUs and on Kaggle's TPU.
#
# This is the tool for a good score. `00_first` explains TPUs, transfer learning and macro F1 from
# the beginning, and `05_custom_loop` shows what happens within `fit`.
#
# The next cell holds all settings, in four groups. Most runs change only ten of them, which come
# first in their groups: `data`, `image_size`, `backbone`, `fine_tune`, `epochs`, `batch_size`,
# `learning_rate`, `augment`, `seed` and `accelerator`. Change them in the cell or on the command
# line (`kernelkit run notebooks/02_train.py -p backbone=VGG16`, or `kernelkit push`
# for Kaggle). The notebook refuses a setting that would have no effect, before anything runs.

# %% tags=["parameters"]
# Data
data = "auto"  # where the photos are: auto, embedded, a folder, gs://..., owner/slug; several: a,b
image_size = 0  # [0, 1024]: side in pixels that the backbone gets; 0 = what it was trained on
validation = "val"  # val | none | fold:K/N: photos that score the model; none trains on all of them
limit = 0  # >= 0: photos in each split, for a quick trial; 0 = all
# Model
backbone = "auto"  # in petals.registry.BACKBONES | auto | hub:PRESET: auto = EfficientNetB0
fine_tune = "none"  # none | all | last:N | block:NAME: layers of the backbone to train
weights = "auto"  # auto | imagenet | none | FILE: the weights that the backbone starts with
head = "auto"  # auto | logistic | gradient | none: how the new last layer is trained first
views = 0  # [0, 2]: 1 = the photo, 2 = its mirror image too; 0 = two with a logistic head
dropout = 0.3  # [0, 1): share of the features left out in training; none with a logistic head
more_backbones = ""  # more names, a,b: the head gets their features beside those of backbone
# Training
epochs = 12  # >= 0: epochs of fine-tuning
batch_size = 8  # >= 1: photos in a step, for each replica
learning_rate = 0.0  # >= 0: the peak on one replica; 0 = what suits the phase and the schedule
augment = "crop"  # none | flip | crop | light | strong: how photos are changed at random
seed = 0  # >= 0: the same seed gives the same run on a CPU
mix = "none"  # none | mixup | cutmix: how pairs of photos and their labels are blended
schedule = "cosine"  # ramp | cosine | exponential | constant: the learning rate over time
label_smoothing = 0.1  # [0, 1): share of each label spread over all classes
weight_decay = 0.0  # >= 0: AdamW's decay of weights
layer_decay = 1.0  # (0, 1]: the rate of a transformer's block, as a share of the next one's
# Machine and session
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
backend = "auto"  # auto | jax | tensorflow: what Keras runs on; auto = JAX for a TPU
dtype = "auto"  # auto | float32 | mixed_bfloat16 | mixed_float16: the precision of computing
time_limit = 0.0  # >= 0: minutes after which training stops; 0 = none
resume = "auto"  # auto | never | PATH: whether to resume from a checkpoint
output = ""  # the run's folder; empty = here on Kaggle, runs/latest at home

# %%
try:
    from petals.registry import require_presets
    from petals.settings import all_backbones, from_scratch, leaves_the_choice, resolve
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "the package petals is missing from this notebook. Push it with "
        "`kernelkit push notebooks/02_train.ipynb`, which packs it in"
    ) from None

settings = resolve(globals())  # refuses a parameter that would be ignored
require_presets(all_backbones(settings), weights)  # fails here, and not after the photos were read

# %% [markdown]
# ## Find the device
#
# `detect` tries a TPU through [JAX](https://docs.jax.dev), then through TensorFlow, then GPUs and
# last the CPU. With `accelerator="tpu"` it stops within a minute if there is no TPU. Keras reads
# the name of its backend when it is imported, so the notebook imports it only after `detect`. With
# `backend="jax"` Keras runs on JAX on GPUs and on the CPU too: the TPU's path can be tried there.
#
# - On Kaggle's v5e-8 the installed TensorFlow cannot see the TPU, but JAX can. So Keras 3 runs on
#   JAX there and splits each batch among the chips with
#   [`keras.distribution.DataParallel`](https://keras.io/guides/distribution/).
# - Where TensorFlow sees the TPU, as on older machines,
#   [`tf.distribute.TPUStrategy`](https://www.tensorflow.org/guide/tpu) needs Keras 2 (the package
#   `tf_keras`).
#
# A *replica* is a copy of the model on one chip. `batch_size` is the number of photos for *one*
# replica: eight replicas with `batch_size=8` train like one device with a batch of 64. An epoch of
# larger batches has fewer steps, so each step has to be longer. Fine-tuning therefore multiplies
# the learning rate by the number of replicas, as [Goyal et al.
# (2017)](https://arxiv.org/abs/1706.02677) did. For AdamW this is a rule of thumb.

# %%
from petals.accelerators.detect import detect

device = detect(accelerator, dtype, backend)
print(device)

# %% [markdown]
# ## Which network runs
#
# EfficientNetB0 starts from weights that were trained on ImageNet. Weights that are not here are
# downloaded now. If that fails and you chose no network, `SmallNet` takes its place, with settings
# from which it learns the drawn flowers from scratch. Weights that you chose have to be there, and
# on Kaggle the default ones too: without them the run stops in this cell, with exit code 11.

# %%
from petals.models.backbones import at_hand

in_its_place = ""
needed = settings["image_size"], settings["weights"]
chosen = not leaves_the_choice(globals())
there = [at_hand(name, *needed, chosen=chosen) for name in all_backbones(settings)]
if not all(there):
    in_its_place = (
        f"The weights of {settings['backbone']} could not be downloaded to this machine, so "
        "SmallNet learns from scratch."
    )
    settings = from_scratch(globals(), device.replicas)
globals().update(settings)  # from here on, every parameter is what the run uses
backbones = all_backbones(settings)  # one, unless more_backbones names others

# %% [markdown]
# ## Where the photos are
#
# Kaggle *mounts* attached data as a read-only folder. `data="auto"` takes the first of these that
# it finds: the competition's mount, another mount, a bucket in Google Cloud Storage (`gs://...`,
# for a TPU in a machine of its own), or `data/` in the repository. If there is none, it uses the
# drawn flowers of the repository, 104 kinds.
#
# The competition divides its photos into *train* to learn from, *val* to measure on, and *test*,
# whose labels only Kaggle has. Each split is cut into 16 *shards*: [TFRecord
# files](https://www.tensorflow.org/tutorials/load_data/tfrecord) with hundreds of JPEGs each.
# Reading several shards at a time is faster than opening single JPEGs. That matters, because the
# chips have to wait for a slow host (`01_explore` measures its speed).
#
# On JAX the next cell also finds the programs that an earlier run compiled.

# %%
from petals import resources, time_left
from petals.accelerators import compilation
from petals.run_folder import RunFolder
from petals.settings import FREE
from petals.training.optimization import set_seed

run = RunFolder(output, parameters=settings, free=FREE, writes=device.host == 0)
resources.record(run.path)  # on Kaggle, for the report
deadline = time_left.deadline(time_limit, device.kind)
set_seed(seed, repeatable=device.on_cpu)
if device.backend == "jax":
    print(f"{compilation.keep(run.path)} compiled programs are stored already")

# %%
from petals.data.dataset import find_dataset
from petals.progress import Progress

photos = find_dataset(settings, run.path, Progress())
train, val, test, names = photos.train, photos.val, photos.test, photos.names
print(photos)  # and what is unusual about them
run.warnings += photos.warnings

# %%
from petals.data.samples import sample_of
from petals.plots import photos as photo_plots
from petals.plots import run as plots

sample = sample_of(train, 24)
captions = [names[label] for label in sample.labels]
run.figure(photo_plots.gallery(sample.images, captions), "gallery")

# %% [markdown]
# In the competition the rarest class has 18 training photos and the most common one 782.

# %%
train_labels, _ = train.labels_and_ids()
val_labels, val_ids = val.labels_and_ids()
balance = {"train": train_labels, "val": val_labels}
run.figure(plots.class_balance(balance, names), "classes")

# %% [markdown]
# ## If a session ends early
#
# Kaggle ends a TPU session after nine hours. Training stops shortly before that. The run then
# writes a submission from the model it has so far, and leaves a *checkpoint* to resume from. The
# next cell looks for a checkpoint in this run's folder and in the attached outputs of earlier
# sessions, which `kernelkit push --continue` attaches. A resumed run gives the same scores as
# an uninterrupted one, up to rounding on a TPU or GPU.

# %%
from petals.training.callbacks import Training
from petals.training.checkpoints import Checkpoints
from petals.training.optimization import steps_of_epoch

batch = batch_size * device.replicas  # of all replicas together
steps, together = steps_of_epoch(train.count, batch, device)  # `together` in one call
facts = {"images": train.fingerprint(), "precision": device.dtype, "steps": steps}
facts |= {"replicas": device.replicas, "hosts": device.hosts}
kept = Checkpoints(run.path, {**settings, **facts}, resume)
run.seconds_before = kept.newest.seconds
history = kept.newest.history
training = Training(history, run.write_history, kept, deadline)
if history:  # of the processes before this one
    run.write_history(history)

# %% [markdown]
# ## Build the model
#
# The *backbone* is a network that was trained on [ImageNet](https://www.image-net.org), without its
# last layer; `00_first` says why. The weights come from an attached file or from `weights/`. If
# neither has them, they are downloaded. Those of `dinov2-small` and its kind, which learnt from
# photos without labels, are models on Kaggle: a push attaches them by itself. The *head* is a new
# `Dense` layer with a softmax. The first phase trains only the head. The second phase, which
# `fine_tune` switches on, trains the backbone as well.
#
# With [EfficientNetB0](https://arxiv.org/abs/1905.11946), 192 pixels and 104 classes:
#
# | part | from | to | parameters | trained |
# |---|---|---|---|---|
# | backbone with preprocessing | 192 × 192 × 3 | maps of five depths | 4,049,571 | in phase two |
# | average of each map over its places | the maps | 2,816 | 0 | – |
# | head: 2,816 × 104 weights and 104 biases | 2,816 | 104 | 292,968 | in both phases |
#
# A logistic head gets the features of five depths, any other head only those of the last layer. The
# model takes pixels from 0 to 255.

# %%
from tensorflow import keras  # the one that `detect` chose: Keras 3, or Keras 2 for TPUStrategy

from petals.models.build import Classifier, build_side_by_side, parameter_counts, set_trainable
from petals.registry import weights_warnings

with device.scope():
    features, (network, *others) = build_side_by_side(
        dict.fromkeys(backbones), image_size, weights=weights, depths=head == "logistic"
    )
    x = keras.layers.Dropout(dropout, name="dropout")(features.output)
    dense = keras.layers.Dense(len(names), activation="softmax", dtype="float32", name="head")
    model = keras.Model(features.input, dense(x), name="classifier")

# %%
beside = dict(zip(backbones[1:], others, strict=True))
classifier = Classifier(model, features, network, backbone, beside)
set_trainable(classifier, fine_tune)  # refuses layers that the backbone does not have
for each in (network, *others):
    each.trainable = False  # until the second phase
total, trainable = parameter_counts(model)
run.clear(weights)  # an earlier run's results, now that the settings are known to be right
run.warn(*weights_warnings(backbones, weights))  # a rehearsal's stand-ins
if in_its_place:
    run.warn(in_its_place)
model.summary()
print(f"{' and '.join(backbones)}: {total:,} parameters, {trainable:,} of them in the head")

# %% [markdown]
# ## First phase: the head
#
# ### Why the features are computed once
#
# A frozen backbone gives the same features for a photo in every epoch. So the notebook computes
# and stores them once, and trains the head on them. With MobileNet-0.75 and 3,670 photos this took
# 10.1 seconds on two CPU cores instead of 101. Later runs reuse the stored features.
#
# Photos that change at random in every epoch (*augmentation*) have no fixed features to store. The
# head learns from the mirror image of each photo too, and a prediction averages both. `views=1`
# leaves the mirror images out. Four or eight versions instead of two did not score better.
#
# ### How the head is trained
#
# With fixed features the head is a [logistic
# regression](https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression), which
# has one optimum. A solver finds it without epochs or a learning rate, and cross-validation on the
# training photos chooses the regularisation *C*.
#
# `head="gradient"` trains the same layer with AdamW for 30 epochs, by default with a peak learning
# rate of 0.01.

# %%
import numpy as np
from IPython.display import display

from petals.training.features import FeatureExtractor
from petals.training.head import train_first_phase

extract = FeatureExtractor(classifier.features, "+".join(backbones), device, Progress())
stopped = train_first_phase(classifier, extract, train, val, settings, training)
head_rates = [row["learning_rate"] for row in history if row["phase"] == "head"]
if head == "gradient" and head_rates:
    display(run.figure(plots.schedule(np.array(head_rates), 1), "head_schedule"))

# %% [markdown]
# ## Second phase: fine-tuning
#
# *Fine-tuning* trains the backbone too. `fine_tune="all"` trains all of it, `"last:40"` its last 40
# layers with weights, and `"block:NAME"` the layers whose names begin with NAME. Fine-tuning has
# three risks:
#
# - **It can destroy what the backbone knows.** A new head sends large, random gradients back. So
#   the head is trained first, and the learning rate is small and rises from near zero. A logistic
#   head is more certain than smoothed labels allow, so its logits are divided by a temperature
#   before fine-tuning begins.
# - **It can learn the photos by heart.** Augmentation counteracts this, and so do `mix`
#   ([mixup](https://arxiv.org/abs/1710.09412), [CutMix](https://arxiv.org/abs/1905.04899)),
#   `dropout`, [`label_smoothing`](https://arxiv.org/abs/1512.00567) and `weight_decay`. After a
#   logistic head there is no dropout: its weights rest on all features at once.
# - **It costs time and memory.** If a batch does not fit into memory, the run ends with
#   `RESOURCE_EXHAUSTED`: choose a smaller `batch_size`. `kernelkit check --tpu` asks the TPU's
#   compiler beforehand.
#
# ### Why the batch is small
#
# Fine-tuning needs many steps. A few thousand photos give few steps an epoch, and smaller batches
# give more. On 1,082 photos of 17 kinds, twelve epochs in batches of 8 (1,296 steps) reached .970,
# and six epochs in batches of 32 (162 steps) reached .959. With `weights="none"`, which also trains
# the BatchNorm layers, choose a batch of 32 or more.
#
# ### Why BatchNorm stays frozen
#
# A [BatchNorm](https://arxiv.org/abs/1502.03167) layer normalises by a stored mean and deviation,
# which come from ImageNet. Batches of a few dozen photos would estimate them badly. In Keras a
# BatchNorm layer with `trainable = False` keeps them.

# %% [markdown]
# ### The learning rate over time
#
# A *schedule* gives every step its learning rate. `"cosine"` rises in a short *warm-up* (a tenth
# of the epochs, one at most), in which [AdamW](https://arxiv.org/abs/1711.05101) learns the size of
# the gradients. It then falls along half a cosine ([Loshchilov & Hutter,
# 2017](https://arxiv.org/abs/1608.03983)): long steps find a good region, and short steps find the
# best place in it. The peak is 0.0001 for each replica, unless you set `learning_rate`. `"ramp"`,
# from Kaggle's tutorial, rises for five epochs and then falls by a fifth in every epoch.
# `"exponential"` falls to a hundredth of the peak.

# %% [markdown]
# ### The training
#
# On TPUs and GPUs, augmentation is part of the training step. On a CPU it is part of the input
# pipeline. If the training runs on several machines (`docs/how-to/short-answers.md`), each reads
# its own part of the photos.
#
# `compile_model` compiles with AdamW and the cross-entropy, and with a smaller rate for the early
# blocks if `layer_decay` asks for it. The callback `Epochs` scores each epoch, keeps the best
# weights, saves checkpoints and stops in time. The model that fine-tuning begins with is scored
# too: if no epoch is better, the run keeps it. On JAX `fit` begins further steps while the chips
# compute. A GPU takes up to eight steps in one call, since it finishes a small step sooner than
# Python begins the next one.
#
# A run that resumes in the middle of an epoch first fits the rest of that epoch. If you need a step
# that `fit` does not have, `05_custom_loop` writes out what `fit` does.

# %%
from petals.augment.augmentation import augmentation, augmented
from petals.augment.layer import augmenting, in_step
from petals.data.pipeline import Batches
from petals.evaluation.prediction import predict
from petals.training.callbacks import OUT_OF_TIME, Epochs, Phase, naming_causes, without_waiting
from petals.training.optimization import compile_model, learning_rates


def fine_tune_backbone():
    set_trainable(classifier, fine_tune, freeze_batch_norm=weights != "none")
    rates = learning_rates(
        schedule, epochs, steps, learning_rate=learning_rate, replicas=device.replicas
    )
    change = augmentation(augment, mix)
    changed = augmented(sample.images[:8], change, seed)
    display(run.figure(photo_plots.augmentations(sample.images[:8], changed), "augmentation"))
    display(run.figure(plots.schedule(rates, steps), "schedule"))

    on_device = in_step(model)
    trained = augmenting(model, change) if change and on_device else model
    compile_model(
        trained,
        rates,
        weight_decay=weight_decay,
        label_smoothing=label_smoothing,
        steps_per_execution=together,
        network=network,
        layer_decay=layer_decay,
    )
    batches = Batches(
        train.part(device.host, device.hosts),
        batch // device.hosts,
        len(names),
        steps=steps,
        augment=change,
        on_device=on_device,
        seed=seed,
        host=device.host,
        hosts=device.hosts,
        deterministic=device.on_cpu,
    )
    watch = Epochs(
        Phase("fine-tune", epochs, steps, batch),
        training,
        val_labels,
        lambda: predict(model, val, batch, tta=views),  # as the submission is predicted
        select=validation != "none",  # else the model was trained on these photos
    )
    watch.resume(trained)
    with naming_causes(train):  # a damaged file or a lost host
        for step, last_epoch, steps_per_epoch in watch.stretches():
            trained.fit(
                batches.dataset(step),
                initial_epoch=step // steps,
                epochs=last_epoch,
                steps_per_epoch=steps_per_epoch,
                shuffle=False,  # the pipeline has shuffled the photos
                callbacks=without_waiting([watch], trained),
                verbose=0,
            )
    run.warnings += watch.finish(trained)
    return watch


# %%
best_epoch = None
if fine_tune != "none" and not stopped:
    watch = fine_tune_backbone()
    stopped, best_epoch = watch.stopped, watch.best_epoch
    trainable = parameter_counts(model)[1]
run.figure(plots.curves(history), "curves")

# %% [markdown]
# ## How good is it?
#
# The curves have one point an epoch. If the validation loss is still falling at the end, train for
# more epochs. If it rises while the training loss falls, the network is learning the photos by
# heart. Guessing among 104 classes gives a loss of 4.64, the natural logarithm of 104.
#
# Both losses are the mean cross-entropy without label smoothing, although training minimises the
# one with it. They still differ in the photos: training sees them changed at random, mixed if `mix`
# says so, and by a network that improves during the epoch.
#
# The competition ranks by macro F1, the mean of the F1 of all classes, in which a rare flower
# counts as much as a common one. `00_first` explains it.
#
# A score on a few hundred photos is an estimate of the score on endlessly many photos of the same
# classes. The notebook draws the photos of each class a thousand times with replacement (a
# [bootstrap](https://en.wikipedia.org/wiki/Bootstrapping_(statistics))), now and then one of
# another class in their place, since three recognised photos are no proof that a class always is.
# 95 % of the scores lie in the *interval*. In simulations it held the score on endlessly many
# photos in 91 to 98 of 100 cases. It does not include how far another training would differ.

# %%
from petals.training.features import apply_head


def predict_split(split):
    if fine_tune == "none":  # the backbone is still the one that gave the stored features
        return apply_head(classifier.head, extract(split, views))
    return predict(model, split, batch, tta=views)


# %%
from petals.evaluation.intervals import Intervals
from petals.evaluation.metrics import Scores, chance
from petals.plots import records

probabilities = predict_split(val)
scores = Scores.of(val_labels, probabilities)
intervals = None
validated = validation != "none"
if validated:
    intervals = Intervals.of(val_labels, probabilities)
    run.write_predictions("val", val_ids, labels=val_labels, probabilities=probabilities)
    records.write_evaluation(run.path, val, val_labels, probabilities, names)  # for the report
    if intervals.note:
        run.warnings.append(intervals.note)
else:
    run.warn("The model was trained on its validation photos: no score says how good it is.")
print(f"macro F1 {scores.macro_f1:.4f}   accuracy {scores.accuracy:.4f}   on {val.count:,} photos")
if intervals:
    print(intervals)

# %% [markdown]
# ### How sure the model is
#
# Of the answers that a model gives with a probability of 80 %, 80 % should be right. Networks are
# often overconfident ([Guo et al., 2017](https://arxiv.org/abs/1706.04599)). Dividing the *logits*,
# the outputs before the softmax, by a *temperature* corrects this without changing any answer.
# `04_predict` does that. The temperature rests on the mistakes: with fewer than five, it
# is below 1 only if five mistakes would leave it there, and never above.

# %%
from petals.evaluation.calibration import Calibration

calibration = Calibration.of(val_labels, probabilities)
print(f"Calibration temperature {calibration.temperature:.2f}")
if validated and calibration.note:
    run.warn(calibration.note)
curves = {"uncorrected": calibration.before, "with the temperature": calibration.after}
run.figure(plots.reliability(curves), "reliability")

# %% [markdown]
# ## Which mistakes to look at
#
# - **The worst classes.** The F1 of a class with few photos varies a lot from run to run.
# - **The pairs.** The figure shows the most common mistakes; the report has the matrix of all
#   classes. If two classes are often confused, they look alike at this image size, or some photos
#   have the wrong label.
# - **The confident mistakes.** Often the label is wrong, which no setting can repair, or the photo
#   shows two flowers or a small one.

# %%
from petals.evaluation.metrics import instructive, per_class

rows = per_class(val_labels, probabilities, names)
display(run.figure(plots.class_scores(rows), "class_scores"))
run.figure(plots.mistakes(val_labels, probabilities, names), "confusion")

# %%
chosen = instructive(val_labels, probabilities, most=24)
shown = sample_of(val, chosen)
run.figure(
    photo_plots.predictions(shown.images, shown.labels, probabilities[chosen], names),
    "predictions",
)

# %% [markdown]
# ## The submission and the model
#
# The run's folder, which on Kaggle is the notebook's output, holds scores, figures, predictions,
# `submission.csv`, and the model with a card that describes it. `04_predict` and `tools/predict.py`
# use the model on new photos. A push with `--submit MESSAGE` submits the file to the competition.
# Without test photos there is no submission. With `limit` it lacks photos: the file is then called
# `submission.partial.csv`, and `kernelkit submit` refuses it.

# %%
from petals.evaluation.submission import write_submission

records.write_gallery(run.path, sample.images, captions)  # for the report
if test:
    test_probabilities = predict_split(test)
    _, test_ids = test.labels_and_ids()
    run.write_predictions("test", test_ids, probabilities=test_probabilities)
    submitted = photos.source.submitted  # what stands for each class, if not its position
    path = run.path / "submission.csv"
    answers = (test_ids, test_probabilities, submitted)
    written = write_submission(path, *answers, complete=test.complete)
    print(f"{written.name}: {test.count:,} test photos")
else:
    print("no submission: the data has no test photos")

# %%
from petals.training.summary import summary

values = summary(
    scores if validated else None,
    history,
    accelerator=device,
    dataset=photos,
    counts=(total, trainable),
    parameters=settings,
    calibration=calibration if validated else None,
    intervals=intervals,
    chance=chance(val_labels, len(names)) if validated else None,
)
values["stopped"] = stopped
values["resumed"] = kept.newest.resumed
values["best_epoch"] = best_epoch if validated else None
metrics = run.write_metrics(values)
resources.stop(run.path)

# %%
from petals.models.restore import write_model

write_model(run.path, classifier, names, metrics)
if stopped != OUT_OF_TIME:  # else the next session resumes
    kept.clear()
trained = "done" if validated else "trained on everything"
print(f"{trained} after {run.seconds:.0f} s; the files are in {run}")

# %% [markdown]
# ## What to expect
#
# These results were measured on two CPU cores, the first of them while other work shared the cores;
# `docs/explanation/recipes.md` says how. "Head" is the default head on the backbone MobileNet-0.75
# at 192 pixels.
#
# | photos | what was trained | macro F1 | time |
# |---|---|---|---|
# | 104 kinds of drawn flowers | `SmallNet`, new, all of it, 13 epochs (`make run`) | .938 | 222 s |
# | 1,082 photos of 17 kinds, five folds | head | .955 ± .011 | .32 of twelve passes |
# | the same | head, then all of the backbone, 6 epochs | .974 and .967 | 1.7 of twelve passes |
# | 2,944 photos of five kinds, five folds | head | .902 ± .008 | .28 of twelve passes |
# | the same | head, then all of the backbone, 6 epochs | .925 ± .011 | 1.7 of twelve passes |
#
# A *pass* runs all photos through the backbone once. Repeats of one recipe differ by about ± .008.
#
# **Nothing has been measured on a TPU yet.** `docs/explanation/worth.md` has the times of this
# notebook on one H200 GPU. The next table has the TPU compiler's estimates of fine-tuning a whole
# backbone on a v5e-8, with 128 photos a step (`docs/appendix/tpu.md`). The only real step whose
# time is known took almost twice its estimate.
#
# | backbone | pixels | a step, as estimated | images/s, as estimated |
# |---|---|---|---|
# | EfficientNetB0 | 192 | 4.6 ms | 27,807 |
# | EfficientNetV2S | 192 | 7.4 ms | 17,257 |
# | EfficientNetB3 | 192 | 9.0 ms | 14,262 |

# %% [markdown]
# ## What to try next
#
# Change one setting at a time, with two or three values of `seed`. A gain below .008 is noise.
#
# 1. `backbone="dinov2-small"` or `"dinov3-base"` with its head alone; a push attaches the weights.
# 2. Another `image_size`, larger than the backbone's own; `layer_decay=0.8` where a transformer is
#    fine-tuned; `more_backbones`, for the features of several networks in one head.
# 3. `fine_tune="all"`, with `augment="strong"` if the training loss falls far below the validation
#    loss.
# 4. Several settings in one command: `kernelkit sweep notebooks/sweeps/schedule.yaml`.
# 5. `03_compare`: the average of several runs often scores better than the best of them.
# 6. `validation="fold:1/5"` to `"fold:5/5"`: five runs, each validated on another fifth of the
#    labelled photos. `03_compare` joins them.
# 7. Your own photos, one folder per class, or more photos to train on: `docs/tutorials/photos.md`.
