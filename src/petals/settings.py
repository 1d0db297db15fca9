"""The parameters of 02_train: how they depend on each other.

`resolve` fills in the values that depend on others and refuses parameters that would be ignored,
before anything runs. A default is always accepted, because nothing shows whether a user chose it or
left it. `check` applies the same rules locally, before a push.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from petals import registry
from petals.errors import SettingError
from petals.registry import Facts

Values = Mapping[str, Any]

# The parameters in the order of the notebook's cell: data, model, training, machine and session
PARAMETERS = (
    "data",
    "image_size",
    "validation",
    "limit",
    "backbone",
    "fine_tune",
    "weights",
    "head",
    "views",
    "dropout",
    "more_backbones",
    "epochs",
    "batch_size",
    "learning_rate",
    "augment",
    "seed",
    "mix",
    "schedule",
    "label_smoothing",
    "weight_decay",
    "layer_decay",
    "accelerator",
    "backend",
    "dtype",
    "time_limit",
    "resume",
    "output",
)
# As the comments in the cell list them; capitals stand for any text. Nothing else checks a value
# that was typed into the cell.
CHOICES = {
    "validation": "val | none | fold:K/N",
    "fine_tune": "none | all | last:N | block:NAME",
    "head": "auto | logistic | gradient | none",
    "augment": "none | flip | crop | light | strong",
    "mix": "none | mixup | cutmix",
    "schedule": "ramp | cosine | exponential | constant",
    "accelerator": "auto | tpu | gpu | cpu",
    "backend": "auto | jax | tensorflow",
    "dtype": "auto | float32 | mixed_bfloat16 | mixed_float16",
}
LOGISTIC, GRADIENT, NONE = "logistic", "gradient", "none"
# Parameters that affect only training by gradients, then those that affect only fine-tuning, with
# their defaults
BY_GRADIENT: Values = {
    "dropout": 0.3,
    "label_smoothing": 0.1,
    "weight_decay": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.0,
}
FINE_TUNING: Values = {
    "epochs": 12,
    "batch_size": 8,
    "augment": "crop",
    "mix": "none",
    "layer_decay": 1.0,
}
# While these have their defaults, nothing else about the network or its training can be set: see
# `resolve`.
UNCHOSEN: Values = {
    "backbone": registry.AUTO,
    "weights": "auto",
    "head": "auto",
    "fine_tune": "none",
    "more_backbones": "",
}
# What lets SmallNet learn the drawn flowers from scratch on two cores. The batch and the rate are
# of all replicas together.
FROM_SCRATCH: Values = {
    "backbone": registry.SMALL,
    "weights": "none",
    "head": NONE,
    "fine_tune": "all",
    "epochs": 13,
    "batch_size": 32,
    "learning_rate": 3e-3,
    "augment": "flip",
    "dropout": 0.2,
    "label_smoothing": 0.05,
}
# A run may resume, or be repeated in its folder, with other values of these.
FREE = ("output", "resume", "time_limit", "accelerator")
INPUTS = "/kaggle/input/"
TUNE = "set fine_tune to all, last:N or block:NAME"


def resolve(values: Values, *, here: bool = True) -> dict[str, Any]:
    """The parameters of 02_train, with the actual values for "auto" and 0.

    `values` holds all `PARAMETERS` by name; other names in it are dropped, so a notebook can pass
    its `globals()`. Raises `SettingError`, in one line, for a parameter that would be ignored and
    for a size that the backbone cannot take. `here`: whether the run is on this machine; if not,
    an `image_size` of 0 stays where only the session can read it from an attached preset.

    backbone    `registry.DEFAULT`; `from_scratch` is what runs where its weights cannot be had
    image_size  the pixels a side that the backbone was trained on
    weights     none for SmallNet, which has no pretrained ones
    head        logistic; gradient for an untrained backbone that is to be fine-tuned
    views       of each photo: two for a logistic head, one for any other
    dropout     0 in fine-tuning after a logistic head, whose weights rest on all features at once
    """
    resolved = {name: values[name] for name in PARAMETERS if name in values}
    if resolved["backbone"] == registry.AUTO:
        resolved["backbone"] = registry.DEFAULT
    native = Facts(resolved["backbone"]).native
    resolved["image_size"] = resolved["image_size"] or native or 0
    if here and not resolved["image_size"]:
        raise SettingError(
            f"image_size=0 means the size of {resolved['backbone']}, which is not known before its "
            "preset is here: set image_size"
        )
    if resolved["backbone"] == "SmallNet" and resolved["weights"] == "auto":
        resolved["weights"] = "none"  # there are no others
    if resolved["head"] == "auto":
        # Fine-tuning changes an untrained backbone's features from the first step, including
        # BatchNorm's statistics: a head that fits the old features closely starts with a loss of
        # 15.
        untrained = resolved["weights"] == "none" and resolved["fine_tune"] != "none"
        resolved["head"] = GRADIENT if untrained else LOGISTIC
    if not resolved["views"]:
        resolved["views"] = 2 if resolved["head"] == LOGISTIC else 1
    for problem in _problems(resolved):
        raise SettingError(problem)
    if resolved["head"] == LOGISTIC and resolved["fine_tune"] != "none":
        # Its weights balance one another: without some features, a logit is far off at once.
        resolved["dropout"] = 0.0
    return resolved


def leaves_the_choice(values: Values) -> bool:
    """Whether these parameters of 02_train choose neither a network nor how it is trained."""
    return all(values[name] == default for name, default in UNCHOSEN.items())


def from_scratch(values: Values, replicas: int = 1) -> dict[str, Any]:
    """The parameters of 02_train for `registry.SMALL`, which needs no pretrained weights.

    `values`: as for `resolve`, of a run that `leaves_the_choice`; `replicas` share a batch.
    """
    per_replica = {
        "batch_size": max(1, FROM_SCRATCH["batch_size"] // replicas),
        "learning_rate": FROM_SCRATCH["learning_rate"] / replicas,
    }
    return resolve({**values, **FROM_SCRATCH, **per_replica})


def fold_of(validation: str) -> tuple[int, int] | None:
    """(fold, folds) of "fold:K/N", the fold counted from 1; None for another choice.

    Raises `SettingError` unless N is at least 2 and K is one of 1 to N.
    """
    if not validation.startswith("fold:"):
        return None
    match = re.fullmatch(r"fold:(\d+)/(\d+)", validation)
    fold, folds = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= fold <= folds or folds < 2:
        raise SettingError(
            f"validation={validation} names no fold: the five folds are fold:1/5 to fold:5/5"
        )
    return fold, folds


def _problems(values: Values) -> Iterator[str]:
    """One line for each rule that resolved values break, the most helpful first."""
    for name, choices in CHOICES.items():
        pattern = re.sub("[A-Z/]+", ".+", choices).replace(" | ", "|")
        if not re.fullmatch(pattern, str(values[name])):
            yield f"{name}={values[name]!r} is not allowed: it takes {choices}"
    fold_of(values["validation"])
    if values["image_size"]:
        yield from filter(None, [Facts(values["backbone"]).size_problem(values["image_size"])])
    yield from _of_several(values)
    fine_tune, head = values["fine_tune"], values["head"]
    if fine_tune != "none":
        if values["layer_decay"] != 1 and not Facts(values["backbone"]).is_hub:
            yield (
                f"layer_decay={values['layer_decay']} with backbone={values['backbone']}: only a "
                "transformer has the blocks that it tells apart, so set layer_decay=1.0, or choose "
                "a backbone such as dinov2-small"
            )
        if not values["epochs"]:
            yield f"fine_tune={fine_tune} with epochs=0 fine-tunes nothing: set epochs to 1 or more"
        if head == LOGISTIC and values["dropout"] not in (0, BY_GRADIENT["dropout"]):
            yield (
                f"dropout={values['dropout']} would be ignored: a logistic head is solved for all "
                "features at once, and fine-tuned without dropout. Set head=gradient, or dropout=0"
            )
        if values["mix"] != "none" and values["batch_size"] % 2:
            yield (
                f"mix={values['mix']} with batch_size={values['batch_size']}: images are mixed in "
                "pairs, so set batch_size to an even number, or leave mix out"
            )
        return
    if head == NONE:
        yield f"head=none with fine_tune=none trains nothing: set head=logistic, or {TUNE}"
    unused = [(FINE_TUNING, f"fine_tune=none trains only the head: {TUNE}")]
    if head == LOGISTIC:
        why = "the logistic head chooses its own regularisation: set head=gradient"
        unused.append((BY_GRADIENT, f"{why}, or {TUNE}"))
    for defaults, reason in unused:
        ignored = [
            f"{name}={values[name]}"
            for name, default in defaults.items()
            if values[name] != default
        ]
        if ignored:
            yield f"{', '.join(ignored)} would be ignored: {reason}"


def more_backbones(values: Values) -> list[str]:
    """The names in `more_backbones`, whose features the head gets beside those of `backbone`."""
    names = str(values["more_backbones"]).split(",")
    return [name.strip() for name in names if name.strip()]


def all_backbones(values: Values) -> list[str]:
    """The names of all backbones whose features the head gets, in their order."""
    return [values["backbone"], *more_backbones(values)]


def _of_several(values: Values) -> Iterator[str]:
    """Problems with the further backbones of a head."""
    names = more_backbones(values)
    for name in names:
        if name not in registry.BACKBONES and not name.startswith(registry.HUB):
            near = difflib.get_close_matches(name, registry.BACKBONES, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else "docs/reference/backbones.md lists them"
            yield f"more_backbones={values['more_backbones']}: no backbone {name!r}: {hint}"
            continue
        facts = Facts(name)
        if values["image_size"]:  # else it is not known before the preset of the first is there
            own = facts.nearest_size(values["image_size"])
            yield from filter(None, [facts.size_problem(own)])
    every = all_backbones(values)
    if len(set(every)) < len(every):
        yield (
            f"more_backbones={values['more_backbones']} with backbone={values['backbone']} names "
            "one twice: the head would get the same features again"
        )
    if names and values["fine_tune"] != "none":
        yield (
            f"more_backbones={values['more_backbones']} with fine_tune={values['fine_tune']}: only "
            "a head is trained on several backbones, so set fine_tune=none, or fine-tune each and "
            "average them with 03_compare"
        )
    if names and values["weights"] not in ("auto", "imagenet", "none"):
        yield (
            f"more_backbones={values['more_backbones']} with weights={values['weights']}: a file "
            "has the weights of one backbone, so set weights=auto, which finds each one's own"
        )


def sources(notebook: str, values: Values) -> dict[str, dict[str, str]]:
    """What a run reads that Kaggle has, by kind of source; kernelkit attaches it to a push.

    {"model": {"OWNER/MODEL/FRAMEWORK/VARIATION/VERSION": licence}} for backbones whose pretrained
    weights are models on Kaggle. `notebook` and `values` as for `check`.
    """
    if notebook != "02_train" or values["weights"] not in registry.FROM_PRESET:
        return {}
    names = all_backbones(values)
    models = {
        source: Facts(name).licence_note
        for name in names
        for source in registry.model_sources(name)
    }
    return {"model": models} if models else {}


def check(
    notebook: str, values: Values, sources: Mapping[str, Sequence[str]] | None
) -> Iterator[str]:
    """Problems with a notebook's parameters; kernelkit calls this before a push or a run.

    `notebook`: the name without its extension; only 02_train has rules. `sources`: the sources
    attached on Kaggle, by kind, or None for a local run.
    """
    if notebook != "02_train":
        return
    try:
        resolve(values, here=sources is None)
    except SettingError as problem:
        yield str(problem)
    if sources is None:
        return
    # After a question mark, names of features follow: see `petals.data.source.find_source`.
    names = [name.strip().partition("?")[0] for name in str(values["data"]).split(",")]
    slugs = {name.lower().split("/")[:2][-1] for own in sources.values() for name in own}
    datasets = {"/".join(name.lower().split("/")[:2]) for name in sources.get("dataset", ())}

    def mounted(name: str) -> bool:
        return name.startswith(INPUTS) and not slugs.isdisjoint(name.lower().split("/"))

    for name in names:
        elsewhere = name in ("auto", "embedded") or "://" in name
        if not (elsewhere or name.lower() in datasets or mounted(name)):
            yield f"data={name} is not attached: add it to dataset_sources and give its OWNER/SLUG"
    for name in all_backbones(values):
        preset = name.removeprefix(registry.HUB)
        known = name in registry.BACKBONES or registry.model_sources(name)
        if "/" in preset and not (known or mounted(preset)):
            yield (
                f"backbone={name} is not in the session: upload the folder (kernelkit upload), "
                "attach the model, and write hub:OWNER/MODEL/FRAMEWORK/VARIATION/VERSION"
            )
    weights = str(values["weights"])
    # A session looks for a bare name among its inputs; a competition has no weights.
    found = "/" not in weights and any(map(sources.get, ("dataset", "kernel", "model")))
    if not (weights in ("auto", "imagenet", "none") or found or mounted(weights)):
        yield (
            f"weights={weights} is not in the session: attach the file and name it as the session "
            f"finds it, below {INPUTS}"
        )
