"""Every parameter of 02_train acts, or is refused before anything is trained."""

import io
import re

import pytest
from checkouts import ROOT

from kernelkit.errors import ParameterError
from kernelkit.notebook import document
from kernelkit.notebook.interface import parameters
from kernelkit.sweep.planning import read_sweep
from kernelkit.sweep.planning.sweep_file import Range
from kernelkit.sweep.run_sweep import sweep
from kernelkit.sweep.sweep_options import SweepOptions
from petals import registry, settings
from petals.errors import SettingError

TRAIN = ROOT / "notebooks" / "02_train.py"
SWEEPS = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))
KNOWN = parameters.of_notebook(document.read(TRAIN))
DEFAULTS = {name: parameter.default for name, parameter in KNOWN.items()}
TUNED = {"fine_tune": "all"}
FROM_NOTHING = {"fine_tune": "all", "head": "none"}

ACCEPTED = [
    {},
    {"head": "gradient", "schedule": "exponential", "learning_rate": 0.02, "dropout": 0.0},
    {**TUNED, "dropout": 0.0, "batch_size": 64},
    {**FROM_NOTHING, "views": 2, "augment": "none", "mix": "cutmix"},
    {"validation": "fold:5/5"},
    {"more_backbones": " VGG16,dinov3-small "},
    {**TUNED, "layer_decay": 0.8, "backbone": "dinov2-small"},
]

REFUSED = [
    ({"head": "none"}, "head=none with fine_tune=none trains nothing"),
    ({**TUNED, "epochs": 0}, "fine_tune=all with epochs=0 fine-tunes nothing"),
    ({"mix": "mixup", "epochs": 2}, "epochs=2, mix=mixup would be ignored: fine_tune=none"),
    ({"views": 2, "augment": "strong"}, "augment=strong would be ignored"),
    ({**TUNED, "mix": "mixup", "batch_size": 7}, "mix=mixup with batch_size=7: images are mixed"),
    ({"validation": "fold:6/5"}, "validation=fold:6/5 names no fold: the five folds are fold:1/5"),
    *(({"validation": f"fold:{fold}"}, "names no fold") for fold in ("0/5", "1/1", "one")),
    ({"dropout": 0.5}, "dropout=0.5 would be ignored: the logistic head"),
    ({**TUNED, "dropout": 0.5}, "dropout=0.5 would be ignored: a logistic head is solved for"),
    ({"validation": "Val"}, "validation='Val' is not allowed: it takes val | none | fold:K/N"),
    *(({name: "Typo"}, f"{name}='Typo' is not allowed") for name in settings.CHOICES),
    ({"more_backbones": "VGG61"}, "no backbone 'VGG61': did you mean VGG19?"),
    ({"more_backbones": "VGG16, EfficientNetB0"}, "backbone=EfficientNetB0 names one twice"),
    ({**TUNED, "more_backbones": "VGG16"}, "only a head is trained on several backbones"),
    ({"more_backbones": "VGG16", "weights": "a.h5"}, "has the weights of one backbone"),
    ({"layer_decay": 0.8}, "layer_decay=0.8 would be ignored: fine_tune=none"),
    ({**TUNED, "layer_decay": 0.8}, "layer_decay=0.8 with backbone=EfficientNetB0"),
]

TWO = {"more_backbones": "dinov3-small, MobileNet"}
SIZES = [
    ("EfficientNetB0", 224),
    ("EfficientNetB5", 456),
    ("EfficientNetV2S", 384),
    ("MobileNet-0.75", 224),
    ("Xception", 299),
    ("SmallNet", 192),
    ("dinov2-base", 518),
    ("dinov3-large", 256),
    ("hub:keras/dinov2/keras/dinov2_small/1", 518),
]
REFUSED_SIZES = [
    ("dinov2-small", 512, "image_size=512: dinov2-small divides images into patches of 14 pixels"),
    ("dinov2-small", 10, "so set 14 or a multiple"),
    ("dinov3-small", 224 + 8, "patches of 16 pixels, so set 224 or 240"),
    ("hub:keras/dinov3/keras/dinov3_vit_base_lvd1689m/1", 100, "so set 96 or 112"),
    ("VGG16", 31, "image_size=31 is too small for VGG16: set 32 or more"),
    ("Xception", 64, "image_size=64 is too small for Xception: set 71 or more"),
    ("hub:nowhere", 0, "which is not known before its preset is here: set image_size"),
]

RESOLVED = [
    (TUNED, ("logistic", 2)),
    ({"weights": "none"}, ("logistic", 2)),
    ({**TUNED, "weights": "none"}, ("gradient", 1)),
    ({**TUNED, "backbone": "SmallNet"}, ("gradient", 1, "none")),  # it has no other weights
    ({"head": "logistic", "views": 3}, ("logistic", 3)),
]


def test_a_logistic_head_is_fine_tuned_without_dropout_and_any_other_with_it():
    assert settings.resolve(DEFAULTS | TUNED)["dropout"] == 0
    for head in ("gradient", "none"):
        given = {**TUNED, "head": head, "dropout": 0.5}
        assert settings.resolve(DEFAULTS | given)["dropout"] == 0.5


def test_auto_is_a_backbone_that_was_trained_on_imagenet():
    assert DEFAULTS["backbone"] == "auto"
    assert settings.resolve(DEFAULTS)["backbone"] == registry.DEFAULT


def test_whoever_sets_the_network_or_its_training_makes_the_choice():
    assert settings.leaves_the_choice(DEFAULTS)
    assert settings.leaves_the_choice(DEFAULTS | {"limit": 9, "seed": 1, "image_size": 64})
    for given in (
        {"backbone": "EfficientNetB0"},
        {"weights": "imagenet"},
        TUNED,
        {"head": "gradient", "dropout": 0.5},
        {"more_backbones": "VGG16"},
    ):
        settings.resolve(DEFAULTS | given)
        assert not settings.leaves_the_choice(DEFAULTS | given), given


@pytest.mark.parametrize(("replicas", "batch"), [(1, 32), (8, 4), (64, 1)])
def test_the_small_network_gets_one_batch_and_rate_on_any_number_of_replicas(replicas, batch):
    resolved = settings.from_scratch(DEFAULTS | {"limit": 9, "views": 2}, replicas)
    kept = {"limit": 9, "views": 2, "image_size": 192, "schedule": "cosine"}
    assert resolved.items() >= (kept | {"batch_size": batch}).items()
    assert resolved["learning_rate"] * replicas == pytest.approx(0.003)
    named = ("backbone", "weights", "head", "fine_tune")
    assert [resolved[name] for name in named] == ["SmallNet", "none", "none", "all"]


def test_make_run_trains_with_the_settings_of_the_small_network():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^FIRST_RUN = (.*)$", text, re.MULTILINE)
    given = dict(part.split("=") for part in re.findall(r"-p (\S+)", line))
    assert given.keys() == settings.FROM_SCRATCH.keys()
    for name, value in settings.FROM_SCRATCH.items():
        assert type(value)(given[name]) == value


def named(given):
    return " ".join(f"{name}={value}" for name, value in given.items()) or "defaults"


@pytest.mark.parametrize("given", ACCEPTED, ids=named)
def test_settings_that_act_are_accepted(given):
    settings.resolve(DEFAULTS | given)


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=[named(given) for given, _ in REFUSED])
def test_settings_that_would_not_act_are_refused_in_one_line(given, why):
    with pytest.raises(SettingError, match=re.escape(why)) as error:
        settings.resolve(DEFAULTS | given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("backbone", "size"), SIZES)
def test_the_size_is_that_of_the_backbones_training(backbone, size):
    resolved = settings.resolve(DEFAULTS | {"backbone": backbone})
    assert resolved["image_size"] == size
    assert (
        settings.resolve(DEFAULTS | {"backbone": backbone, "image_size": 448})["image_size"] == 448
    )


@pytest.mark.parametrize(("backbone", "size", "why"), REFUSED_SIZES)
def test_a_size_that_the_backbone_cannot_take_is_refused(backbone, size, why):
    with pytest.raises(SettingError, match=re.escape(why)):
        settings.resolve(DEFAULTS | {"backbone": backbone, "image_size": size})


def test_a_size_that_a_further_backbone_cannot_take_is_refused():
    changes = {"backbone": "SmallNet", "more_backbones": "dinov2-small, Xception"}
    with pytest.raises(SettingError, match="image_size=70 is too small for Xception: set 71"):
        settings.resolve(DEFAULTS | changes | {"image_size": 70})
    assert settings.resolve(DEFAULTS | changes | {"image_size": 71})["image_size"] == 71


@pytest.mark.parametrize("backbone", registry.BACKBONES)
def test_every_native_size_suits_its_backbone(backbone):
    facts = registry.Facts(backbone)
    assert facts.size_problem(facts.native) == ""


def test_the_presets_are_names_of_the_registry():
    assert set(registry.PRESETS) < set(registry.BACKBONES)
    assert all(registry.Facts(name).is_hub for name in registry.PRESETS)
    licences = {registry.Facts(name).family.licence for name in registry.PRESETS}
    assert licences == {"Apache-2.0", registry.DINOV3_LICENCE}


def test_a_push_attaches_what_its_backbones_read():
    def models(**changes):
        return list(settings.sources("02_train", DEFAULTS | changes).get("model", {}))

    small = "keras/dinov2/keras/dinov2_small/1"
    assert models() == []
    assert models(backbone="dinov2-small") == [small]
    assert models(backbone="hub:me/vit/keras/small/3") == ["me/vit/keras/small/3"]
    assert models(backbone="hub:vit_base", more_backbones="hub:weights/lite2") == []
    third = "keras/dinov3/keras/dinov3_vit_small_lvd1689m/1"
    assert models(backbone="dinov2-small", **TWO) == [small, third]
    assert models(backbone="dinov2-small", weights="none") == []
    assert settings.sources("04_predict", {"model": "auto"}) == {}


def test_a_push_says_the_licences_of_the_weights_that_it_attaches():
    backbones = {"backbone": "dinov2-small", "more_backbones": "dinov3-base,hub:me/vit/keras/s/3"}
    first, second, own = settings.sources("02_train", DEFAULTS | backbones)["model"].values()
    assert first == "licence: Apache-2.0"
    assert second.startswith("licence: DINOv3 License (Meta); Kaggle may ask you to accept it")
    assert own == "licence: see the model's page"


@pytest.mark.parametrize(("given", "expected"), RESOLVED)
def test_open_settings_are_resolved_by_the_head(given, expected):
    resolved = settings.resolve(DEFAULTS | given)
    values = resolved["head"], resolved["views"], resolved["weights"]
    assert values[: len(expected)] == expected
    assert settings.resolve(resolved) == resolved  # those that a run records can be given again


def test_parameters_and_defaults_are_those_of_the_notebook():
    assert tuple(DEFAULTS) == settings.PARAMETERS
    assert tuple(settings.resolve(DEFAULTS | {"another": 1})) == settings.PARAMETERS
    assert DEFAULTS.items() >= {**settings.BY_GRADIENT, **settings.FINE_TUNING}.items()
    rules = {name: p.rule for name, p in KNOWN.items() if p.type is str and p.rule}
    free = {"backbone", "weights", "resume"}  # a file, a folder or one of very many names
    assert {name: rule for name, rule in rules.items() if name not in free} == settings.CHOICES


def test_the_check_needs_no_tensorflow(python):
    python("import sys, petals.settings; sys.exit('tensorflow' in sys.modules)")


def test_the_notebook_checks_before_it_looks_for_an_accelerator():
    cells = [cell for cell in document.read(TRAIN).cells if cell.cell_type == "code"]
    assert document.has_tag(cells[0], "parameters")
    code = "\n".join(cell.source for cell in cells)
    assert 0 < code.find("= resolve(globals())") < code.find("detect(")
    assert code.find("from_scratch(globals()") < code.find("globals().update(settings)")
    assert code.find("globals().update(settings)") < code.find("RunFolder(output")


def test_the_cell_has_four_headings():
    (cell,) = document.parameters_cells(document.read(TRAIN))
    lines = cell.source.splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# Data", "# Model", "# Training", "# Machine and session"]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_shipped_sweeps_ask_for_nothing_that_is_ignored(path):
    commands = re.findall(r"kernelkit sweep(.*)", re.sub(r"\s*\\\n#?\s*", " ", path.read_text()))
    assert commands
    for command in commands:
        sweep = read_sweep.read(path, re.findall(r"-p (\S+)", command))
        for run in (*sweep.runs, *read_sweep.read(path, kaggle=True).runs):
            settings.resolve(run.values)
        space = sweep.search.space if sweep.search else {}
        for name, axis in space.items():
            ends = [axis.low, axis.high] if isinstance(axis, Range) else axis
            for value in ends:
                settings.resolve(DEFAULTS | dict(sweep.base) | {name: value})


ABSENT = ("photos", "me/photos", "./me/attached", "/kaggle/input/datasets/me/other")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"mix": "mixup"}, "mix=mixup would be ignored"),
        *(({"data": f"auto, {name}"}, f"data={name} is not attached") for name in ABSENT),
        ({"data": "auto,me/attached,gs://bucket"}, None),
        ({"data": "auto,me/attached", "image_size": 100}, None),  # made from larger records
        (
            {"backbone": "dinov2-small", "image_size": 512},
            "patches of 14 pixels, so set 504 or 518",
        ),
        ({"backbone": "hub:me/vit/keras/vit_patch16/1", "image_size": 200}, None),  # nor its patch
        ({"backbone": "hub:me/vit/keras/small/1"}, None),  # its size is known in the session
        ({"backbone": "hub:weights/lite2"}, "backbone=hub:weights/lite2 is not in the session"),
        ({"more_backbones": "hub:weights/lite2"}, "backbone=hub:weights/lite2 is not in the"),
        ({"backbone": "hub:/kaggle/input/datasets/me/attached/vit"}, None),
        ({"data": "me/attached?image=photo&class=kind"}, None),
        ({"data": "me/photos?image=photo"}, "data=me/photos is not attached"),
        ({"data": "/kaggle/input/attached/deep"}, None),
        ({"weights": "notop.h5"}, None),  # its name among what is attached
        *(({"weights": f"{name}/a.h5"}, f"weights={name}/a.h5 is not in") for name in ABSENT),
        ({"weights": "/kaggle/input/datasets/me/attached/notop.h5"}, None),
    ],
)
def test_the_desk_applies_the_notebooks_rules(changes, problem):
    sources = {"dataset": ["Me/attached/2"]}
    problems = list(settings.check("02_train", DEFAULTS | changes, sources))
    assert (problems == []) if problem is None else problem in problems[0]
    assert list(settings.check("01_explore", {"data": "me/photos"}, sources)) == []
    if "data" in changes:  # at home nothing is attached
        assert list(settings.check("02_train", DEFAULTS | changes, None)) == []


def test_a_competition_has_no_weights():
    changed = DEFAULTS | {"weights": "notop.h5"}
    (problem,) = settings.check("02_train", changed, {"competition": ["flowers"]})
    assert "weights=notop.h5 is not in the session: attach" in problem


def test_a_sweep_is_refused_before_its_first_run(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(f"notebook: {TRAIN}\nbase: {{fine_tune: none}}\ngrid: {{mix: [none, mixup]}}\n")
    with pytest.raises(ParameterError, match="mix=mixup would be ignored"):
        sweep(file, options=SweepOptions(output=tmp_path / "out", stream=io.StringIO()))
    assert not (tmp_path / "out").exists()
