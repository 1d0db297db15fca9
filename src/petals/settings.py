"""The parameters of 02_train: how they depend on each other.

`resolve` fills in the values that depend on others and refuses parameters that would be ignored,
before anything runs. A default is always accepted, because nothing shows whether a user chose it or
left it. `check` applies the same rules locally, before a push.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from petals.errors import SettingError

Values = Mapping[str, Any]

# The parameters in the order of the notebook's cell: data, model, training, machine and session
PARAMETERS = (
    *("data", "image_size", "validation", "limit"),
    *("backbone", "fine_tune", "weights", "head", "views", "dropout"),
    *("epochs", "batch_size", "learning_rate", "augment", "seed"),
    *("mix", "schedule", "label_smoothing", "weight_decay"),
    *("accelerator", "backend", "dtype", "time_limit", "resume", "output"),
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
FINE_TUNING: Values = {"epochs": 12, "batch_size": 8, "augment": "crop", "mix": "none"}
COMPETITION_SIZES = (192, 224, 331, 512)  # of its photos, in pixels
INPUTS = "/kaggle/input/"
TUNE = "set fine_tune to all, last:N or block:NAME"


def resolve(values: Values) -> dict[str, Any]:
    """The parameters of 02_train, with the actual weights, head and views for "auto" and 0.

    `values` holds all `PARAMETERS` by name; other names in it are dropped, so a notebook can pass
    its `globals()`. Raises `SettingError`, in one line, for a parameter that would be ignored.

    weights  none for SmallNet, which has no pretrained ones
    head     logistic; gradient for an untrained backbone that is to be fine-tuned
    views    of each photo: two for a logistic head, one for any other
    """
    resolved = {name: values[name] for name in PARAMETERS if name in values}
    if resolved["backbone"] == "SmallNet" and resolved["weights"] == "auto":
        resolved["weights"] = "none"  # there are no others
    if resolved["head"] == "auto":
        # Fine-tuning changes an untrained backbone's features from the first step, including
        # BatchNorm's statistics: a head that fits the old features closely starts with a loss of
        # 15.
        untrained = resolved["weights"] == "none" and resolved["fine_tune"] != "none"
        resolved["head"] = GRADIENT if untrained else LOGISTIC
    resolved["views"] = resolved["views"] or 1 + (resolved["head"] == LOGISTIC)
    for problem in _problems(resolved):
        raise SettingError(problem)
    return resolved


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
    fine_tune, head = values["fine_tune"], values["head"]
    if fine_tune != "none":
        if not values["epochs"]:
            yield f"fine_tune={fine_tune} with epochs=0 fine-tunes nothing: set epochs to 1 or more"
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
        resolve(values)
    except SettingError as problem:
        yield str(problem)
    if sources is None:
        return
    # After a question mark, names of features follow: see `petals.data.source.find_source`.
    names = [name.strip().partition("?")[0] for name in str(values["data"]).split(",")]
    if names[0] == "auto" and values["image_size"] not in COMPETITION_SIZES:
        sizes = ", ".join(map(str, COMPETITION_SIZES))
        yield f"image_size={values['image_size']}: the competition's photos have {sizes} pixels"
    slugs = {name.lower().split("/")[:2][-1] for own in sources.values() for name in own}
    datasets = {"/".join(name.lower().split("/")[:2]) for name in sources.get("dataset", ())}

    def mounted(name: str) -> bool:
        return name.startswith(INPUTS) and not slugs.isdisjoint(name.lower().split("/"))

    for name in names:
        elsewhere = name in ("auto", "embedded") or "://" in name
        if not (elsewhere or name.lower() in datasets or mounted(name)):
            yield f"data={name} is not attached: add it to dataset_sources and give its OWNER/SLUG"
    weights = str(values["weights"])
    # A session looks for a bare name among its inputs; a competition has no weights.
    found = "/" not in weights and any(map(sources.get, ("dataset", "kernel", "model")))
    if not (weights in ("auto", "imagenet", "none") or found or mounted(weights)):
        yield (
            f"weights={weights} is not in the session: attach the file and name it as the session "
            f"finds it, below {INPUTS}"
        )
