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
# This notebook trains a network that tells 104 kinds of flower apart, for Kaggle's competition
# [Petals to the Metal](https://www.kaggle.com/competitions/tpu-getting-started). It reads photos,
# trains in one or two phases, measures macro F1 on photos that it was not trained on, and writes a
# submission. You need to know Keras, and nothing about TPUs. The same cells run on a laptop, on
# GPUs and on Kaggle's TPU.
#
# The cell below holds all settings. Change them there, on the command line
# (`tools/run_notebook.py notebooks/02_train.py -p backbone=VGG16`), or when you push the notebook
# to Kaggle (`tools/push_kernel.py -p backbone=VGG16`). Each line says which values are allowed, and
# the text below explains the words. A setting that would have no effect is refused before anything
# runs. `docs/backbones.md` lists the backbones. The functions that the cells call are in
# `src/petals`; `docs/architecture.md` shows where.

# %% tags=["parameters"]
data = "auto"  # where the images are: auto, embedded, a folder, gs://..., owner/slug; several: a,b
image_size = 192  # [32, 1024]: side in pixels; the competition has 192, 224, 331 and 512
folds = 0  # >= 0: parts for cross-validation; 0 = validate on val, 1 = train on all photos
fold = 0  # >= 0: the part to validate on, where folds > 1
backbone = "EfficientNetB0"  # in petals.models.backbones.BACKBONES | hub:PRESET: the network
weights = "auto"  # auto | imagenet | none | FILE: the weights that the backbone begins with
fine_tune = "none"  # none | all | last:N | block:NAME: layers of the backbone to train
head = "auto"  # in petals.settings.HEADS: how the new last layer is trained
features = "auto"  # auto | last | depths: layers of the backbone that give the head features
head_epochs = 30  # >= 0: epochs of head=gradient; 0 = skip the first phase
views = 0  # >= 0: versions of each photo that the head learns from; 0 = what suits the head
epochs = 12  # >= 0: epochs of fine-tuning
batch_size = 8  # >= 1: images for each replica
augment = "crop"  # none | flip | crop | light | strong: how photos are changed at random
mix = "none"  # none | mixup | cutmix: how pairs of photos and their labels are blended
dropout = 0.3  # [0, 1): share of the features left out while training
label_smoothing = 0.1  # [0, 1): share of each label spread over all classes
weight_decay = 0.0  # >= 0: AdamW's decay of weights
schedule = "cosine"  # ramp | cosine | exponential | constant: the learning rate's shape
learning_rate = 0.0  # >= 0: its peak on one replica; 0 = what suits the phase and the schedule
scale_rate = True  # whether fine-tuning on N replicas multiplies the rate by N
tta = 0  # >= 0: versions of a photo that a prediction averages; 0 = what suits the head
accelerator = "auto"  # auto | tpu | gpu | cpu: the device that the run must have
dtype = "auto"  # auto | float32 | mixed_bfloat16 | mixed_float16: precision of computing
remat = False  # whether fine-tuning computes activations twice to save memory (JAX only)
optimization_level = "auto"  # in petals.accelerators.compilation.LEVELS: XLA's effort (JAX only)
custom_loop = False  # fine-tune with the loop written out in petals.training.custom_loop
seed = 0  # >= 0: the same seed gives the same run on a CPU
limit = 0  # >= 0: images a split, for trying things out; 0 = all
time_limit = 0.0  # >= 0: minutes after which training stops; 0 = none
resume = "auto"  # auto | never | PATH: whether to go on from a checkpoint
checkpoint_minutes = 5.0  # >= 0: between checkpoints within an epoch of fine-tuning
output = ""  # the run's folder; empty = here on Kaggle, runs/latest at home

# %% [markdown]
# ## What a TPU is to a notebook
#
# A [TPU](https://www.kaggle.com/docs/tpu) is a chip that Google builds for multiplying large
# matrices. A notebook uses it as it uses a GPU: the Keras model is the same, and `fit` is the
# same. The TPU's chips sit in a machine called the *host*. On Kaggle the host runs this notebook,
# reads the files, decodes the JPEGs and hands the chips one batch after the other. Three things
# differ from a CPU:
#
# - **It compiles before it computes.** The compiler [XLA](https://openxla.org/xla) turns a whole
#   training step into one program for the chip. That takes minutes for a large network, so the
#   first step is slow and all later ones are fast. A program fits one shape of batch, so every
#   batch has the same number of photos. `optimization_level="O1"` has XLA try less: the first step
#   comes sooner, and each step takes longer. `docs/tpu.md` says when that pays.
# - **It is several chips.** Kaggle's TPU v5e-8 has eight, with 16 GB of memory each. They share
#   each batch.
# - **It computes in [bfloat16](https://cloud.google.com/tpu/docs/bfloat16),** a float of 16 bits.
#   The weights stay in float32, and so does the softmax, whose small differences 16 bits would
#   lose. Keras calls this policy `mixed_bfloat16`.
#
# Kaggle lends a TPU for 20 hours a week and at most nine hours at a time, often after a wait in a
# queue. On Kaggle you choose it in the notebook's settings, under Accelerator. A push with
# `tools/push_kernel.py` asks for it and sets `accelerator="tpu"`.
#
# ### Why JAX on one TPU and TPUStrategy on another
#
# Keras 3 hands the computing to a *backend*: TensorFlow, JAX or PyTorch. On Kaggle's v5e-8 the
# installed TensorFlow cannot see the TPU, and the installed [JAX](https://docs.jax.dev) can. So on
# a v5e-8 this notebook runs Keras on JAX and shares each batch among the chips with
# [`keras.distribution.DataParallel`](https://keras.io/guides/distribution/). The input pipeline
# stays `tf.data`. A layer of your own works on JAX if it is written with `keras.ops`. There is a
# TensorFlow that sees this TPU, the package `tensorflow-tpu`. It would have to be installed in
# every session, with the internet on.
#
# On TPU machines whose TensorFlow sees the TPU (older ones such as the v3-8, or those with
# `tensorflow-tpu`) the notebook uses
# [`tf.distribute.TPUStrategy`](https://www.tensorflow.org/guide/tpu). Keras 3 does not work under
# `TPUStrategy`, so Keras 2 does the training there, from the package `tf_keras`.
#
# Many older notebooks contain `try: TPUClusterResolver() except ValueError:`. On a v5e-8 that cell
# falls back on the CPU without a message, and the TPU hours are spent for nothing. `detect`,
# below, tries JAX, then `TPUStrategy`, then GPUs, then the CPU, and prints what it tried. With
# `accelerator="tpu"` it stops within a minute where there is no TPU.
#
# ### What a replica is
#
# A *replica* is one copy of the model on one chip or GPU. In each step every replica gets an equal
# part of the batch and computes its gradients. The gradients are averaged, and all copies make the
# same update. So the replicas stay equal, and eight of them with `batch_size=8` train as one
# device with a batch of 64 does. `batch_size` is the number of photos for *one* replica, because
# one chip's memory limits it.
#
# With eight replicas an epoch has an eighth of the steps: the competition's 12,753 photos make 199
# full batches of 64, or 1,594 of 8. (The photos that fill no batch come first in the
# next epoch.) To get as far in fewer steps, each step has to be longer. So
# fine-tuning multiplies the learning rate by the number of replicas, as [Goyal et al.
# (2017)](https://arxiv.org/abs/1706.02677) did, with a short warm-up at the start. They tried this
# rule with SGD on ImageNet. For AdamW, which this notebook uses, it is a rule of thumb;
# `scale_rate=False` switches it off. A laptop has one replica, and nothing is multiplied.

# %%
try:
    from petals.settings import resolve
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "the package petals did not travel with this notebook. Push it with "
        "`python tools/push_kernel.py notebooks/02_train.ipynb`, which packs it in"
    ) from None

# %%
settings = resolve(globals())  # the parameters; one that would not act is refused here
head, tta = settings["head"], settings["tta"]

# %%
from petals.accelerators.detect import detect

device = detect(accelerator, dtype)
print(device)

# %% [markdown]
# ## Where the photos are
#
# Kaggle *mounts* the data that is attached to a notebook: the data appears as a folder that can be
# read and not written, today `/kaggle/input/competitions/tpu-getting-started`. A `gs://` path
# names a folder in Google Cloud Storage, which is read over the network. Which of the two a run
# needs depends on the machine that reads:
#
# | machine | reads from | why |
# |---|---|---|
# | Kaggle: TPU v5e-8, GPU, CPU | the mount | the notebook is on the machine with the chips |
# | an older TPU in a machine of its own, a *TPU node* | `gs://` | the node has no mounts |
# | a machine in Google's cloud | a folder or `gs://` | both can be reached |
# | your own computer | a folder | `data/` in the repository is found by itself |
#
# `data="auto"` takes the first of these that is there: the competition's mount, another mount, a
# bucket (the folder in Google Cloud Storage that the variable `PETALS_GCS_PATH` names, or on a TPU
# node the one that Kaggle keeps of the competition), and `data/` in the repository. Where there is
# none of them and this is not Kaggle, it takes 104 kinds of flower that the kit draws. They need
# no download, and every part of this notebook can be tried on them. The cell below prints what it
# found.
#
# ### Why the photos are in shards
#
# The competition divides its photos into three splits: *train* to learn from, *val* to measure on,
# and *test*, whose labels only Kaggle has. Each split is cut into 16 *shards*. A shard is a
# [TFRecord](https://www.tensorflow.org/tutorials/load_data/tfrecord) file, which holds hundreds of
# JPEGs with their labels and ids, one after the other.
#
# Single JPEG files would be slow: each of thousands would have to be opened, often over a network.
# One large file could be read by one reader only. Several shards can be read at the same time and
# in mixed order, which also shuffles the photos. Kaggle advises tens to hundreds of files of 10 to
# 100 MB each. Speed matters on a TPU because the chips wait whenever the host is slower than they
# are. `01_explore` measures how fast the host reads, and TensorFlow's [guide to input
# pipelines](https://www.tensorflow.org/guide/data_performance) explains what makes reading fast.
#
# A shard's name says how many photos it holds: `00-192x192-798.tfrec` is the first shard of photos
# of 192 x 192 pixels, with 798 of them. So the number of steps is known before a file is opened.
# The competition has its photos in four sizes; `image_size` chooses one.

# %% [markdown]
# The next cell makes the run's folder, sets the seed, and reads the clock, so that training can
# stop before the session does. On JAX it also says how hard XLA is to try, and looks for programs
# that an earlier run compiled. Where the head alone is trained on a CPU that has instructions for
# bfloat16, it measures whether they are faster, and uses them if so.

# %%
from petals import kaggle
from petals.accelerators import compilation
from petals.run_folder import RunFolder
from petals.training import precision
from petals.training.compile import set_seed

run = RunFolder(output)
deadline = kaggle.deadline(time_limit, device.kind)
if dtype == "auto" and fine_tune == "none":
    precision.choose(device, backbone, image_size)
set_seed(seed, repeatable=device.on_cpu)
if device.backend == "jax":
    compilation.optimize(optimization_level)
    print(f"{compilation.keep(run.path)} compiled programs are there already")

# %%
from petals.data.dataset import find_dataset
from petals.progress import Progress

photos = find_dataset(settings, run.path, Progress())
train, val, test, names = photos.train, photos.val, photos.test, photos.names
print(photos)

# %%
from petals.plots import run as plots

sample = train.sample(24)
captions = [names[label] for label in sample.labels]
run.write_gallery(sample.images, captions)
run.figure(plots.gallery(sample.images, captions), "gallery")

# %% [markdown]
# The classes are not equally common: in the competition the rarest has 18 photos to train on and
# the commonest 782. The bars below are sorted by that number. In a good split the validation
# photos have the same shares.

# %%
train_labels, _ = train.labels_and_ids()
val_labels, val_ids = val.labels_and_ids()
balance = {"train": train_labels, "val": val_labels}
run.figure(plots.class_balance(balance, names), "classes")

# %% [markdown]
# ## If a session ends early
#
# Kaggle ends a TPU session after nine hours, whether training is over or not. Training here stops
# in time before that. The run still scores what it has, writes a submission, and leaves a
# *checkpoint*: a file with what training needs to go on. The next cell looks for one in this run's
# folder and in the output of earlier sessions that is attached as an input
# (`tools/push_kernel.py --continue` attaches it). A run that finds a checkpoint goes on from it,
# and ends with the scores of a run that was never interrupted. A run that finds none starts anew.

# %%
from petals.training.checkpoints import Checkpoints

facts = {"images": train.fingerprint(), "precision": device.dtype}
facts |= {"replicas": device.replicas, "hosts": device.hosts}
kept = Checkpoints(run.path, {**settings, **facts}, resume)
history = kept.history
run.seconds_before = kept.seconds
watching = {"deadline": deadline, "history": history, "record": run.write_history}

# %% [markdown]
# ## What transfer learning keeps and what it changes
#
# About 120 photos a class are too few to train a large network from random weights. So the
# notebook takes a network that was trained on [ImageNet](https://www.image-net.org), over a
# million photos of 1,000 kinds of things, and uses what it learnt there. Keras's [guide to
# transfer learning](https://keras.io/guides/transfer_learning/) shows the same method. With
# `weights="auto"` the weights come from a file that is attached to the notebook or lies in
# `weights/`, and else from the internet.
#
# - **It keeps** the *backbone*: all layers but the last, with their weights and with the
#   preprocessing they were trained with. The backbone turns a photo into *features*, some hundreds
#   or thousands of numbers that say which shapes, textures and colours are in it.
# - **It replaces** the last layer, which knew ImageNet's classes, by a new one for the flowers.
#   This *head* is a single `Dense` layer with a softmax.
# - **It changes** in the first phase the head alone. The backbone is *frozen*:
#   `trainable = False`. In the second phase, which `fine_tune` switches on, training changes the
#   backbone as well.
#
# With [EfficientNetB0](https://arxiv.org/abs/1905.11946), 192 pixels and 104 classes the model is:
#
# | part | from | to | parameters | trained |
# |---|---|---|---|---|
# | backbone with preprocessing | 192 × 192 × 3 | maps of five depths | 4,049,571 | in phase two |
# | average of each map over its places | the maps | 2,816 | 0 | – |
# | dropout, where gradients train the head | 2,816 | 2,816 | 0 | – |
# | head: 2,816 × 104 weights and 104 biases | 2,816 | 104 | 292,968 | in both phases |
#
# So the first phase trains 292,968 of 4,342,539 parameters, 7 %. With `fine_tune="all"` the second
# phase trains 4,258,500: the 84,039 of the BatchNorm and normalisation layers stay as they are, for
# a reason given below. The last of the five maps has 6 × 6 places with 1,280 numbers each.
#
# Earlier layers respond to textures and colours, later layers to larger shapes. Features of
# several depths scored as well as those of the last layer or better (`docs/measured.md`), so they
# are the default. With `features="last"` the head gets the 1,280 of the last layer and has 133,224
# parameters; `"auto"` takes that for a head that is trained by gradients. Older notebooks often
# take [VGG16](https://arxiv.org/abs/1409.1556) and flatten its output; the average used here needs
# far fewer weights.
#
# The next cell builds the model and prints its summary. Pixels go in as they are, 0 to 255: what
# the backbone expects of them is part of the model. `tools/tpu_check.py` compiles the same model
# for a TPU on a machine that has none.

# %%
from petals.models.build import parameter_counts
from petals.training.plan import plan_run

plan = plan_run(settings, len(names), train.count, device)
classifier, batch_size_all, steps = plan.classifier, plan.batch_size, plan.steps
total, trainable = parameter_counts(classifier.model)
classifier.model.summary()
print(f"{backbone}: {total:,} parameters, {trainable:,} of them in the head")

# %% [markdown]
# ## First phase: the head
#
# ### Why the features are computed once
#
# Training usually runs the whole network on every photo in every epoch. While the backbone is
# frozen that is a waste: the same photo gives the same features every time. So this notebook runs
# the backbone over the photos once, on the chips where there are some, stores the features, and
# trains the head on them. On two CPU cores, with MobileNet-0.75 and 3,670 photos of five flowers,
# this took 10.1 seconds and reached a macro F1 of .901 (with `head="gradient"`). Running the
# backbone in every epoch took 101 seconds and reached .887.
#
# There is a price: a photo that is changed at random in every epoch (*augmentation*) has new
# features each time, and cannot be stored. `views` is a compromise: it stores the features of
# several versions of each photo, first the photo, then its mirror image, then versions that
# `augment` makes. Features are kept on disk, and the next run with the same photos, backbone and
# size finds them.
#
# ### How the head is trained
#
# With fixed features the head is a [logistic
# regression](https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression): a
# `Dense` layer with a softmax and cross-entropy. This problem has one optimum, and a solver on the
# host's CPU finds it. There are no epochs and no learning rate to choose. Cross-validation on the
# training photos chooses the regularisation: the cell prints the log loss for several values of
# *C*, of which a small one regularises strongly. By default the head gets features from several
# depths of the backbone, and sees each photo and its mirror image.
#
# `head="gradient"` trains the same layer with AdamW for `head_epochs` epochs, as `fit` would. Then
# `dropout`, `label_smoothing`, `weight_decay` and a learning rate act on it. The rate has its peak
# at 0.01 unless you set another, and the figure below draws it for each epoch. The second phase
# explains what a schedule of the rate is for.

# %%
from petals.models import weights as pretrained
from petals.models.backbones import find_backbone
from petals.training import features as stored_features
from petals.training.first_phase import train_first_phase

extract = stored_features.extractor(
    classifier,
    device,
    seed=seed,
    progress=Progress(),
    key=pretrained.describe(find_backbone(backbone), image_size, weights),
)
stopped = train_first_phase(classifier, extract, train, val, settings, kept, **watching)

# %%
import numpy as np
from IPython.display import display

head_rates = [row["learning_rate"] for row in history if row["phase"] == "head"]
if head == "gradient" and head_rates:
    display(run.figure(plots.schedule(np.array(head_rates), 1), "head_schedule"))

# %% [markdown]
# ## Second phase: fine-tuning
#
# The features were made for ImageNet's classes. *Fine-tuning* trains the backbone too, so that its
# features fit flowers. `fine_tune="all"` trains all of it, `"last:40"` its last 40 layers that
# have weights, `"block:NAME"` the layers whose names begin with NAME. With `"none"`, the default,
# the cells of this section do nothing, and you can read on at "How good is it?".
#
# Fine-tuning has three risks:
#
# - **It can destroy what the backbone knows.** A new head has random weights and sends large,
#   random gradients back, and a high learning rate overwrites good weights within a few steps. So
#   the head is trained first, the learning rate is small, and it rises from near zero. A logistic
#   head is surer of its answers than smoothed labels ask for, and would change the backbone to be
#   less so; its logits are divided by a temperature before, which changes no answer.
# - **It can learn the photos by heart.** The network has millions of parameters and some thousand
#   photos. The sign of it is a training loss that falls while the validation loss rises.
#   Augmentation works against it, since it shows each photo a little different in every epoch; the
#   figure below has originals above and changed versions under them. `mix` blends two photos and
#   their labels ([mixup](https://arxiv.org/abs/1710.09412),
#   [CutMix](https://arxiv.org/abs/1905.04899)). `dropout`,
#   [`label_smoothing`](https://arxiv.org/abs/1512.00567) and `weight_decay` work against it too.
#   The default dropout suits the first phase by gradients; what was measured here did best
#   without.
# - **It costs time and memory.** Every step runs the backbone forward and backward. A batch that
#   does not fit into the chip's memory ends with the error `RESOURCE_EXHAUSTED`; take a smaller
#   `batch_size` then, or set `remat=True`: the backward pass then computes again what lies between
#   the narrow ends of a network's blocks, instead of keeping it. `tools/tpu_check.py` asks the
#   TPU's compiler beforehand whether a run fits.
#
# ### Why the batch is small
#
# Each batch is one step, so that small batches make many steps of an epoch. That is what
# fine-tuning of a few thousand photos is short of: on 1,082 photos of 17 kinds, twelve epochs in
# batches of 8 (1,296 steps) reached .970, and six in batches of 32 (162 steps) .959. Twelve with
# batches of 32, and four times the rate to make up for it, were no better. A small batch costs a
# few seconds more, uses less of a large device, and needs less memory. A network that trains its
# BatchNorm layers (below) is an exception: give it batches of 32 or more.
#
# ### Why BatchNorm stays frozen
#
# A [BatchNorm](https://arxiv.org/abs/1502.03167) layer subtracts a mean and divides by a
# deviation. In training Keras takes both from the current batch and also updates the stored
# values. Those stored values come from ImageNet's million photos, and the layers behind were
# trained to expect them. Batches of a few dozen photos estimate them badly. So BatchNorm layers
# keep their values: in Keras a BatchNorm layer with `trainable = False` runs in inference mode, as
# the [guide](https://keras.io/guides/transfer_learning/) explains. A network without pretrained
# weights (`weights="none"`) has no values to keep, and its BatchNorm layers are trained.
#
# The next cells draw augmented photos and the learning rate, then train.

# %%
from petals.augment.augmentation import augmentation, augmented
from petals.data import pipeline

tuning = fine_tune != "none" and epochs and not stopped
if tuning:
    change = augmentation(augment, mix)
    look = augmented(sample.images[:8], change, seed)
    display(run.figure(plots.augmentations(sample.images[:8], look), "augmentation"))

# %% [markdown]
# ### The learning rate over time
#
# A *schedule* gives every step its learning rate. The figure shows exactly the rates that the
# optimizer will use. The default, `"cosine"`, rises in a short *warm-up* (a tenth of the epochs,
# one at most) to its peak, and then falls along half a cosine towards zero ([Loshchilov & Hutter,
# 2017](https://arxiv.org/abs/1608.03983)). The warm-up protects the weights while
# [AdamW](https://arxiv.org/abs/1711.05101) has seen too few gradients to know their size. The fall
# lets the network settle: long steps find a good region, short steps find the best place in it.
# The peak is 0.0001 on one replica and 0.0008 on eight, unless you set `learning_rate`.
#
# `"ramp"` is the schedule of Kaggle's tutorial: it rises for five epochs (in a short run for a
# third of the epochs), then falls by a fifth an epoch. `"exponential"` falls to a hundredth, and
# `"constant"` does not change. In `docs/sweeps.md`, which compared them on heads trained by
# gradients, `"constant"` scored lowest and the other three alike.

# %%
if tuning:
    plan.unfreeze()
    trainable, rates = parameter_counts(classifier.model)[1], plan.rates
    print(f"{trainable:,} parameters learn, {steps} steps an epoch, at {rates.max():.2g} at most")
    display(run.figure(plots.schedule(rates, steps), "schedule"))

# %%
from petals.augment.layer import in_step

if tuning:
    on_device = in_step(classifier.model)  # where the photos are changed
    training = pipeline.Training(
        train.part(device.host, device.hosts),
        batch_size_all // device.hosts,
        len(names),
        augment=change,
        on_device=on_device,
        seed=seed,
        host=device.host,
        hosts=device.hosts,
        deterministic=device.on_cpu,
    )

# %% [markdown]
# While it trains, a line shows the epoch, the photos a second and the time left; the compiling in
# the first step is not counted. A run may span several machines (`docs/machines.md`). Each of them
# then reads its own part of the photos.

# %%
from petals.training import fine_tune as fine_tuning

if tuning:
    tuned = fine_tuning.fine_tune(
        classifier,
        training.batches,
        val,
        rates=rates,
        epochs=epochs,
        steps_per_epoch=steps,
        batch_size=batch_size_all,
        val_labels=val_labels,
        **plan.compiling,
        augment=change if on_device else None,
        remat=remat,
        by_hand=custom_loop,
        files=train.paths,
        checkpoints=kept,
        checkpoint_minutes=checkpoint_minutes,
        **watching,
    )
    stopped = tuned.stopped

# %%
run.figure(plots.curves(history), "curves")

# %% [markdown]
# ## How good is it?
#
# First look at the curves above, one point an epoch. The left panel shows the loss: the
# cross-entropy, in *nats*, the unit of natural logarithms. A model that knows nothing of 104
# classes has a loss of 4.64, the natural logarithm of 104. The right panel shows the scores.
# Validation loss that still falls at the end means that more epochs may help. Validation loss that
# rises while the training loss falls means that the network learns the photos by heart. The
# default head is fitted in one go and has a single point.
#
# ### Why macro F1 and not accuracy
#
# *Accuracy* is the share of photos that were answered right, so common classes decide it. *F1* of
# a class is the harmonic mean of its precision (how many of the answers "rose" are roses) and its
# recall (how many roses were found). [*Macro
# F1*](https://scikit-learn.org/stable/modules/generated/sklearn.metrics.f1_score.html) is the
# plain mean over the classes: a rare flower counts as much as a common one.
#
# An example with two classes, 90 roses and 10 tulips: a model that always answers "rose" has an
# accuracy of 0.90. Its F1 is 0.947 for roses and 0 for tulips, so its macro F1 is 0.474. The
# competition ranks by macro F1, and so does this notebook. With 104 classes, each class that is
# never found costs almost 0.01.
#
# The score is measured on the validation photos, which the model was not trained on. If you choose
# among many settings by this score, the winner's score is a little too good; the score on the
# leaderboard shows by how much.

# %%
from petals.evaluation import prediction
from petals.training.head import apply_head


def predict(split):
    if fine_tune == "none":  # the backbone's features have not changed
        return apply_head(classifier, extract(split, views=tta))
    return prediction.predict(classifier.model, split, batch_size_all, tta=tta, seed=seed)


# %%
from petals.data.folds import TOGETHER
from petals.evaluation.metrics import Scores

probabilities = predict(val)
scores = Scores.of(val_labels, probabilities)
validated = folds != TOGETHER
if validated:
    run.write_predictions(val_ids, val_labels, probabilities)
    run.write_evaluation(val, val_labels, probabilities, names)  # what a report lays out
else:
    print("the photos below were trained on: these figures say nothing of new ones")
print(f"macro F1 {scores.macro_f1:.4f}   accuracy {scores.accuracy:.4f}   on {val.count:,} photos")

# %% [markdown]
# ### How sure the model is
#
# Of the answers that a model gives with 80 % probability, 80 % should be right. Networks are often
# too sure ([Guo et al., 2017](https://arxiv.org/abs/1706.04599)). The correction is one number,
# the *temperature*: the model's outputs before the softmax, its *logits*, are divided by it. The
# next cell finds the temperature on the validation photos. The figure shows the probabilities
# before and after. The temperature changes no answer and no score. `04_predict` uses it.

# %%
from petals.evaluation.calibration import Calibration
from petals.plots.probabilities import reliability

calibration = Calibration.of(val_labels, probabilities)
print(f"temperature {calibration.temperature:.2f}: the logits are to be divided by it")
as_told = {"as they came": calibration.before, "with the temperature": calibration.after}
run.figure(reliability(as_told), "reliability")

# %% [markdown]
# ## Which mistakes to look at
#
# - **The worst classes.** The first figure sorts the classes by F1, worst first. Look at how many
#   photos a bad class has: with few of them its F1 jumps from run to run.
# - **The pairs.** In the matrix a row is the true class and a column the answer. Right answers are
#   on the diagonal and pale; mistakes are darker. The list below it has the commonest ones. Two
#   classes taken for each other look alike at this image size, or one of them has a wrong name in
#   the data.
# - **The sure ones.** The photos after that are mistakes of which the model was sure, then right
#   answers of which it was not. Sure mistakes are often wrong labels, photos of two flowers, or
#   flowers that are small in the picture. No training setting cures a wrong label.

# %%
from petals.evaluation.metrics import confusion, instructive, most_confused, per_class

rows = per_class(val_labels, probabilities, names)
run.figure(plots.class_scores(rows), "class_scores")

# %%
matrix = confusion(val_labels, probabilities)
display(run.figure(plots.confusion(matrix, names), "confusion"))
print("the commonest mistakes:")
for truth, guess, times in most_confused(val_labels, probabilities, names):
    print(f"{times:4}  {truth}  taken for  {guess}")

# %%
chosen = instructive(val_labels, probabilities, most=24)
shown = val.sample(chosen)
run.figure(
    plots.predictions(shown.images, shown.labels, probabilities[chosen], names),
    "predictions",
)

# %% [markdown]
# ## The submission and what is kept
#
# Everything is in the run's folder, which on Kaggle is the notebook's output and at home
# `runs/latest`: scores, history, predictions, figures, `submission.csv`, the model, and a card
# that describes it. `04_predict` and `tools/predict.py` use the model on new photos. To enter the
# submission into the competition, push with `--submit MESSAGE`, or choose the file among the
# notebook's outputs on Kaggle.

# %%
from petals.evaluation.submission import write_submission

test_probabilities = predict(test)
_, test_ids = test.labels_and_ids()
run.write_test_predictions(test_ids, test_probabilities)
sample_submission = photos.sample_submission
write_submission(run.path / "submission.csv", test_ids, test_probabilities, sample_submission)
metrics = run.write_metrics(
    scores if validated else None,
    history,
    accelerator=device,
    source=photos.source,
    splits=photos.splits,
    counts=(total, trainable),
    added=[addition.summary() for addition in photos.added],
    stopped=stopped,
    resumed=kept.resumed,
    parameters=settings,
    calibration=calibration if validated else None,
)

# %%
from petals.training import callbacks

known = find_backbone(backbone), image_size, weights
head_only = not tuning and pretrained.stays(*known)  # the backbone is in a file that stays
run.write_model(classifier, names, pretrained.origin(*known), metrics, whole=not head_only)
if stopped != callbacks.OUT_OF_TIME:  # else the next session goes on
    kept.clear()
said = f"macro F1 {scores.macro_f1:.4f}" if validated else "trained on everything"
print(f"{said} after {run.seconds:.0f} s; everything is in {run}")

# %% [markdown]
# ## What to expect
#
# All of this was measured on two cores of an x86 CPU, without an accelerator. `docs/measured.md`
# says how, and has more. "Head" is the default head of this notebook on the backbone
# MobileNet-0.75, at 192 pixels.
#
# | photos | what was trained | macro F1 | time |
# |---|---|---|---|
# | 104 kinds of drawn flowers | `SmallNet`, new, all of it, 16 epochs (`make run`) | .904 | 166 s |
# | 1,082 photos of 17 kinds, five folds | head | .955 ± .011 | .32 of twelve passes |
# | the same | head, then all of the backbone, 6 epochs | .974 ± .007 | 1.7 of twelve passes |
# | 2,944 photos of five kinds, five folds | head | .902 ± .008 | .28 of twelve passes |
# | the same | head, then all of the backbone, 6 epochs | .925 ± .011 | 1.7 of twelve passes |
#
# Five folds mean that each photo was validated once, by a model that had not seen it. The times in
# the last four rows are the processors', as parts of what twelve passes of all photos through the
# backbone take. So six epochs of fine-tuning cost about six times as much as the head. They were
# made with `dropout=0`, and gained in each of the five folds. Do not compare rows of different
# photos with each other. Repeats of one recipe with other seeds differ by about ± .008.
#
# **On a TPU or a GPU nothing has been measured yet.** The code has been rehearsed on CPU devices
# that stand in for them, and the TPU's own compiler estimates how long a step of fine-tuning all of
# a backbone takes on a v5e-8, with 128 photos a step (`docs/tpu.md` has more):
#
# | backbone | pixels | a step, as estimated | images/s, as estimated |
# |---|---|---|---|
# | EfficientNetB0 | 192 | 5.8 ms | 21,999 |
# | EfficientNetV2S | 192 | 8.4 ms | 15,270 |
# | EfficientNetB5 | 512 | 132.9 ms | 963 |
#
# A real step takes longer: the one program whose time on a v5e-8 is known took almost twice its
# estimate, its input included.
# The first step on a TPU takes minutes, for the compiler. A run stores its compiled programs in
# `compiled/`; a later run that has them attached does not compile them again.

# %% [markdown]
# ## What to try next
#
# Change one setting at a time and repeat with two or three values of `seed`. A gain below .008 is
# noise.
#
# 1. `image_size=331` or `512`: more pixels show finer parts of a flower. Time and memory grow with
#    them.
# 2. A larger backbone, such as `backbone="EfficientNetB5"` or `"DenseNet201"`.
# 3. `fine_tune="all"`, and `augment="strong"` when the training loss falls far below the validation
#    loss.
# 4. `tta=4`: the probabilities of four versions of each photo are averaged. The default is two, the
#    photo and its mirror image, or one for a head trained by gradients.
# 5. Several settings in one command: `tools/sweep.py notebooks/sweeps/schedule.yaml`. The folder
#    has a sweep for most of the choices above.
# 6. `03_compare`: two or more runs averaged often score better than the best of them.
# 7. `folds=5` with `fold=0` to `4`: five runs, each validated on another fifth of the labelled
#    photos. `03_compare` joins them.
# 8. Your own photos, one folder a class, or more photos to train on: `docs/photos.md`.
# 9. `custom_loop=True` runs fine-tuning through a training loop that you can read and change, in
#    `src/petals/training/custom_loop.py`.
