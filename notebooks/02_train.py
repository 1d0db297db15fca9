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
# From TFRecords to macro F1 and a submission. A backbone that has seen ImageNet looks at every
# photo once; a small head learns to tell the flowers apart from what it saw; then, if asked, the
# whole network is fine-tuned. The same notebook runs on a laptop and on Kaggle's TPU: the cell
# below is all there is to change, from here, from the command line
# (`tools/run_notebook.py notebooks/02_train.py -p backbone=VGG16`) or at a push.

# %% tags=["parameters"]
data = "auto"  # where the images are: auto, embedded, a folder, gs://..., owner/slug; several: a,b
test_twins = "leave_out"  # leave_out | use: photos of further sources that are in the test split
image_size = 192  # [32, 1024]: side in pixels; the competition has 192, 224, 331 and 512
folds = 0  # >= 0: parts of train and val, one of which validates; 0 = val does, 1 = none does
fold = 0  # >= 0: the part that validates
backbone = "EfficientNetB0"  # in petals.models.backbones.BACKBONES | hub:PRESET: what looks
weights = "auto"  # auto | imagenet | none | FILE: what the backbone knows beforehand
fine_tune = "none"  # none | all | last:N | block:NAME: what is trained after the head
head = "auto"  # in petals.settings.HEADS: fitted to its optimum, or trained by gradients
features = "auto"  # auto | last | depths: where in the backbone the head's features come from
head_epochs = 30  # >= 0: passes of head=gradient over the stored features; 0 = no head first
views = 0  # >= 0: views for the head: photo, mirror image, then as augment says; 0 = what suits
epochs = 5  # >= 0: passes over the photos while fine-tuning
batch_size = 32  # >= 1: images for each replica
augment = "light"  # none | flip | crop | light | strong: changes photos to tune on, and views
mix = "none"  # none | mixup | cutmix: blending photos and their labels
dropout = 0.3  # [0, 1): share of the features left out while training
label_smoothing = 0.1  # [0, 1): share of each label spread over all classes
weight_decay = 0.0  # >= 0: AdamW's decay of weights
schedule = "cosine"  # ramp | cosine | exponential | constant: the learning rate's shape
learning_rate = 0.0  # >= 0: its peak; 0 = what suits the phase and the schedule
scale_rate = True  # whether fine-tuning on N replicas multiplies the rate by N
tta = 0  # >= 0: views averaged at prediction time; 0 = what suits the head
accelerator = "auto"  # auto | tpu | gpu | cpu: what must be there
dtype = "auto"  # auto | float32 | mixed_bfloat16 | mixed_float16: precision of compute
custom_loop = False  # fine-tune with the loop spelt out in petals.training.custom_loop
on_corrupt = "stop"  # stop | skip: what to do about damaged images
seed = 0  # >= 0: the same seed gives the same run on a CPU
limit = 0  # >= 0: images a split, for trying things out; 0 = all
time_limit = 0.0  # >= 0: minutes after which training stops; 0 = none
resume = "auto"  # auto | never | PATH: whether to go on from a checkpoint
checkpoint_minutes = 5.0  # >= 0: between checkpoints within an epoch of fine-tuning
output = ""  # the run's folder; empty = here on Kaggle, runs/latest at home

# %%
try:
    from petals.settings import resolve
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "the package petals did not travel with this notebook. Push it with "
        "`python tools/push_kernel.py notebooks/02_train.ipynb`, which packs it in"
    ) from None

settings = {
    "data": data, "test_twins": test_twins, "image_size": image_size, "folds": folds, "fold": fold,
    "backbone": backbone, "weights": weights,
    "fine_tune": fine_tune, "head": head, "features": features, "head_epochs": head_epochs,
    "views": views, "epochs": epochs,
    "batch_size": batch_size, "augment": augment, "mix": mix, "dropout": dropout,
    "label_smoothing": label_smoothing, "weight_decay": weight_decay, "schedule": schedule,
    "learning_rate": learning_rate, "scale_rate": scale_rate, "tta": tta,
    "accelerator": accelerator, "dtype": dtype, "custom_loop": custom_loop,
    "on_corrupt": on_corrupt, "seed": seed, "limit": limit, "time_limit": time_limit,
    "resume": resume, "checkpoint_minutes": checkpoint_minutes, "output": output,
}  # fmt: skip
settings = resolve(settings)  # a parameter that would not act is refused here
head, head_epochs, views, tta = (settings[n] for n in ("head", "head_epochs", "views", "tta"))

from petals.accelerators.detect import detect

device = detect(accelerator, dtype)
print(device)

# %% [markdown]
# ## The photos
#
# Shards are found on Kaggle's mounts, in a bucket or in a folder; away from Kaggle, flowers that
# the kit draws itself stand in for photos.

# %%
from functools import partial

from IPython.display import display

from petals import kaggle
from petals.accelerators import compilation
from petals.data import augment as augmentation
from petals.data import inspection, pipeline, shards
from petals.data.augment_layer import in_step
from petals.data.extra import extended, more_to_train_on, write_twins
from petals.data.folds import TOGETHER, divided
from petals.data.source import find_sources
from petals.data.splits import Split
from petals.evaluation import prediction
from petals.evaluation.calibration import Calibration
from petals.evaluation.metrics import Scores, confusion, instructive, most_confused, per_class
from petals.evaluation.submission import write_submission
from petals.kaggle import cache_folder
from petals.models import weights as pretrained
from petals.models.backbones import find_backbone
from petals.models.build import parameter_counts
from petals.plots import run as plots
from petals.plots.probabilities import reliability
from petals.progress import Progress
from petals.run_folder import RunFolder
from petals.training import callbacks, precision
from petals.training import features as stored_features
from petals.training import fine_tune as fine_tuning
from petals.training.checkpoints import Checkpoints
from petals.training.compile import set_seed
from petals.training.head import apply_head, train_head
from petals.training.logistic_head import fit_head
from petals.training.plan import plan_run

run = RunFolder(output)
deadline = kaggle.deadline(time_limit, device.kind)
if dtype == "auto" and fine_tune == "none":
    precision.choose(device, backbone, image_size)
set_seed(seed, repeatable=device.on_cpu)
if device.backend == "jax":
    print(f"{compilation.keep(run.path)} compiled programs are there already")

source, *others = find_sources(data, image_size)
names = source.class_names
train, val, test = (
    Split.find(source.root, image_size, part, limit) for part in ("train", "val", "test")
)
skipped = 0
if on_corrupt == "skip":
    (train, val, test), skipped = inspection.intact((train, val, test), cache_folder())
whole = {"train": train, "val": val, "test": test}
added = more_to_train_on(
    others, names, whole, test_twins=test_twins, cache=cache_folder(), progress=Progress()
)
train, val = divided(train, val, folds, fold, cache_folder())
train = extended(train, added)
if added:
    print(*added, sep="\n")
    write_twins(run.path / "twins.csv", added)
print(
    f"{source}: {len(names)} classes; {train.count:,} train, {val.count:,} val, {test.count:,} test"
)

# %%
sample = shards.sample(train, 24)
captions = [names[label] for label in sample.labels]
run.write_gallery(sample.images, captions)
run.figure(plots.gallery(sample.images, captions), "gallery")

# %%
train_labels, _ = shards.labels_and_ids(train)
val_labels, val_ids = shards.labels_and_ids(val)
balance = {"train": train_labels, "val": val_labels}
run.figure(plots.class_balance(balance, names), "classes")

# %% [markdown]
# ## Where it was cut off
#
# A run that was interrupted goes on from its last checkpoint, found here or in the output of an
# earlier session that is attached as an input. With the same settings it ends with the same
# scores as one left alone.

# %%
facts = {"images": train.fingerprint(), "precision": device.dtype}
facts |= {"replicas": device.replicas, "hosts": device.hosts}
kept = Checkpoints(run.path, {**settings, **facts}, resume)
history, stopped = kept.history, ""
run.seconds_before = kept.seconds
watching = {"deadline": deadline, "history": history, "record": run.write_history}

# %% [markdown]
# ## The model
#
# Pixels go in as they are, 0 to 255: what the backbone expects of them is part of the model. From
# the same plan `tools/tpu_check.py` compiles this run's programs for a TPU before there is one.

# %%
plan = plan_run(settings, len(names), train.count, device)
classifier, batch_size_all, steps = plan.classifier, plan.batch_size, plan.steps
total, trainable = parameter_counts(classifier.model)
print(f"{backbone}: {total:,} parameters, {trainable:,} of them in the head")

# %% [markdown]
# ## First phase: the head
#
# While the backbone is frozen it gives the same features of a photo every time. So they are
# computed once and stored, and the head learns from them: one pass over the photos instead of one
# an epoch. By default that is logistic regression, solved to its optimum; `head="gradient"` trains
# the same layer step by step, as the second phase trains the whole network.

# %%
extract = stored_features.extractor(
    classifier, device, seed=seed, progress=Progress(),
    key=pretrained.describe(find_backbone(backbone), image_size, weights),
)  # fmt: skip
if kept.phase == "head":
    classifier.head.set_weights(kept.found.arrays)
elif head != "none" and not kept.phase:
    train_features = extract(train, views=views, level=augment)
    val_features = extract(val, views=tta)
    if train_features.stored and val_features.stored:
        print("  the features were there from an earlier run")
    head_steps = 1
    if head == "logistic":
        fit_head(classifier, train_features, val_features, seed=seed, **watching)
    else:
        alone = fine_tune == "none"
        trained = train_head(
            classifier,
            train_features,
            val_features,
            epochs=head_epochs,
            schedule=schedule if alone else "cosine",
            learning_rate=learning_rate if alone else 0.0,
            weight_decay=weight_decay,
            label_smoothing=label_smoothing,
            dropout=dropout,
            seed=seed,
            **watching,
        )
        stopped, head_steps = trained.stopped, trained.steps * head_epochs
    if not stopped:
        kept.save("head", head_steps, classifier.head.get_weights(), history=history)

# %% [markdown]
# ## Second phase: fine-tuning
#
# Now the backbone may change as well, gently, on photos that never look the same twice. Of several
# hosts each reads its own part of them.

# %%
tuning = fine_tune != "none" and epochs and not stopped
if tuning:
    change = augmentation.augmentation(augment, mix)
    look = pipeline.augmented(sample.images[:8], change, seed)
    display(run.figure(plots.augmentations(sample.images[:8], look), "augmentation"))

# %%
if tuning:
    plan.unfreeze()
    trainable, rates = parameter_counts(classifier.model)[1], plan.rates
    print(f"{trainable:,} parameters learn, {steps} steps an epoch, at {rates.max():.2g} at most")
    display(run.figure(plots.schedule(rates, steps), "schedule"))

# %%
if tuning:
    on_device = in_step(classifier.model)  # where the photos are changed
    batches = partial(
        pipeline.training,
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
    tuned = fine_tuning.fine_tune(
        classifier,
        lambda step: batches(start=step),
        val,
        rates=rates,
        epochs=epochs,
        steps_per_epoch=steps,
        batch_size=batch_size_all,
        val_labels=val_labels,
        **plan.compiling,
        augment=change if on_device else None,
        by_hand=custom_loop,
        files=train.paths,
        checkpoints=kept,
        checkpoint_minutes=checkpoint_minutes,
        **watching,
    )
    stopped = tuned.stopped

run.figure(plots.curves(history), "curves")

# %% [markdown]
# ## How good is it?
#
# Macro F1 is the mean of the classes' F1: a rare flower counts as much as a common one.


# %%
def predict(split):
    if fine_tune == "none":  # the backbone's features have not changed
        return apply_head(classifier, extract(split, views=tta))
    return prediction.predict(classifier.model, split, batch_size_all, tta=tta, seed=seed)


probabilities = predict(val)
scores = Scores.of(val_labels, probabilities)
validated = folds != TOGETHER
if validated:
    run.write_predictions(val_ids, val_labels, probabilities)
    run.write_evaluation(val, val_labels, probabilities, names)  # what a report lays out
else:
    print("the photos below were trained on: these figures say nothing of new ones")
print(f"macro F1 {scores.macro_f1:.4f}   accuracy {scores.accuracy:.4f}   on {val.count:,} photos")

# %%
calibration = Calibration.of(val_labels, probabilities)
print(f"divided by {calibration.temperature:.2f}, the logits give probabilities that hold")
as_told = {"as they came": calibration.before, "with the temperature": calibration.after}
run.figure(reliability(as_told), "reliability")

# %%
rows = per_class(val_labels, probabilities, names)
run.figure(plots.class_scores(rows), "class_scores")

# %%
matrix = confusion(val_labels, probabilities)
display(run.figure(plots.confusion(matrix, names), "confusion"))
for truth, guess, times in most_confused(val_labels, probabilities, names):
    print(f"{times:4}  {truth}  taken for  {guess}")

# %%
chosen = instructive(val_labels, probabilities, most=24)
photos = shards.sample(val, chosen)
run.figure(
    plots.predictions(photos.images, photos.labels, probabilities[chosen], names),
    "predictions",
)

# %% [markdown]
# ## The submission and what is kept
#
# Everything is in the run's folder: scores, history, predictions, figures, `submission.csv`, and
# the model with its card, which `04_predict` and `tools/predict.py` show new photos to.

# %%
test_probabilities = predict(test)
_, test_ids = shards.labels_and_ids(test)
run.write_test_predictions(test_ids, test_probabilities)
sample_submission = None if limit or skipped else f"{source.root}/sample_submission.csv"
write_submission(run.path / "submission.csv", test_ids, test_probabilities, sample_submission)
metrics = run.write_metrics(
    scores if validated else None,
    history,
    accelerator=device,
    source=source,
    splits={"train": train, "val": val, "test": test},
    counts=(total, trainable),
    skipped=skipped,
    stopped=stopped,
    resumed=kept.resumed,
    added=[addition.summary() for addition in added],
    calibration=calibration if validated else None,
    parameters=settings,
)
known = find_backbone(backbone), image_size, weights
head_only = not tuning and pretrained.stays(*known)  # the backbone is in a file that stays
run.write_model(classifier, names, pretrained.origin(*known), metrics, whole=not head_only)
if stopped != callbacks.OUT_OF_TIME:  # else the next session goes on
    kept.clear()
said = f"macro F1 {scores.macro_f1:.4f}" if validated else "trained on everything"
print(f"{said} after {run.seconds:.0f} s; everything is in {run}")
