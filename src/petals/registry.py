"""The backbones by name, and what is known of each before it is built: size, patch, weights.

`petals.settings` applies these rules at the desk, so nothing here imports TensorFlow. A new
backbone is a name in `BACKBONES`, and a line of `FAMILIES` where its name begins like no other. A
network that keras_hub has with its weights on Kaggle is a `Preset` as well.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from petals.errors import SettingError, WeightsError
from petals.kaggle import attached, mounts, on_kaggle, repository

AUTO = "auto"
DEFAULT = "EfficientNetB0"  # what "auto" means where its weights can be had
SMALL = "SmallNet"
HUB = "hub:"  # and a preset of keras_hub: see petals.models.hub
PACKAGE = "keras_hub"
# The version in Kaggle's images; 0.32 brings an older kagglesdk than kernelkit takes.
INSTALL = "pip install keras-hub==0.26.0"
LOCAL_FOLDERS = ("weights", "data/weights", "~/.keras/models")  # in the repository or at home
CONFIG = "config.json"  # the file that identifies a preset's folder
RANDOM = "random_weights.txt"  # in the folder of a preset that a rehearsal made: says so
FROM_PRESET = ("auto", "imagenet")  # values of the parameter weights for which a preset is read
COMMON_SIZE = 224  # pixels a side of most networks' training, and of those that name none
DINOV3_LICENCE = "DINOv3 License (Meta)"


@dataclass(frozen=True)
class Family:
    """What backbones whose names begin with `prefix` share.

    `weights_file`: Keras's own name of the ImageNet weights without the top, a pattern for each
    family, since Keras follows no rule: "no_top" or "notop", the size in the name or not, prefixes
    of their own, and no function that tells the name without a download. With {name} and
    {variant} (what follows the prefix) in lower case, {size} and {width}; `licence`: of these
    weights, according to keras.io and the repositories that they were ported from; `sizes`: the
    pixels besides 224 for which there are such files; `native`: pixels a side of the photos that
    the network was trained on, by variant where they differ; `smallest`: the fewest that it takes.
    """

    prefix: str
    preprocessing: str
    weights_file: str = ""
    licence: str = "unknown: see where the weights come from"
    sizes: tuple[int, ...] = ()
    native: Mapping[str, int] = field(default_factory=dict)
    smallest: int = 32


_NOTOP = "_weights_tf_dim_ordering_tf_kernels_notop.h5"
_V2 = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_{size}_no_top.h5"
_V3 = "weights_mobilenet_v3_{variant}_224_1.0_float_no_top_v2.h5"
_APACHE = "Apache-2.0"
# Pixels by variant, as keras.applications documents them.
_EFFICIENTNET = {"b1": 240, "b2": 260, "b3": 300, "b4": 380, "b5": 456, "b6": 528, "b7": 600}
_EFFICIENTNET_V2 = {"b1": 240, "b2": 260, "b3": 300, "s": 384, "m": 480, "l": 480}
FAMILIES = (  # of a name the first that fits
    Family(SMALL, "tf", native={"": 192}, smallest=2),
    Family(HUB, "hub", smallest=1),
    Family("dinov2-", "hub", licence=_APACHE, smallest=14),
    Family("dinov3-", "hub", licence=DINOV3_LICENCE, smallest=16),
    Family("VGG", "caffe", "{name}" + _NOTOP, "CC BY 4.0 (VGG, Oxford)"),
    Family("ResNet", "tf", "{name}" + _NOTOP, "BSD (Facebook)"),
    Family("Xception", "tf", "{name}" + _NOTOP, "MIT", native={"": 299}, smallest=71),
    Family("InceptionV3", "tf", "inception_v3" + _NOTOP, _APACHE, native={"": 299}, smallest=75),
    Family("DenseNet", "torch", "{name}" + _NOTOP, "BSD 3-clause"),
    Family("MobileNetV2", "tf", _V2, _APACHE, (96, 128, 160, 192)),
    Family("MobileNetV3", "inside", _V3, _APACHE),
    Family("MobileNet", "tf", "mobilenet_{width}_{size}_tf_no_top.h5", _APACHE, (128, 160, 192)),
    Family(
        "EfficientNetV2",
        "inside",
        "efficientnetv2-{variant}_notop.h5",
        _APACHE,
        native=_EFFICIENTNET_V2,
    ),
    Family("EfficientNet", "inside", "{name}_notop.h5", _APACHE, native=_EFFICIENTNET),
    Family("ConvNeXt", "inside", "convnext_{variant}_notop.h5", "MIT (Facebook)"),
)

# A literal: kernelkit reads these names without importing TensorFlow.
BACKBONES = (
    "SmallNet",
    "dinov2-small",
    "dinov2-base",
    "dinov2-large",
    "dinov2-giant",
    "dinov2-registers-small",
    "dinov2-registers-base",
    "dinov2-registers-large",
    "dinov2-registers-giant",
    "dinov3-small",
    "dinov3-small-plus",
    "dinov3-base",
    "dinov3-large",
    "dinov3-huge-plus",
    "VGG16",
    "VGG19",
    "ResNet50V2",
    "Xception",
    "InceptionV3",
    "DenseNet121",
    "DenseNet201",
    "MobileNet",
    "MobileNet-0.25",
    "MobileNet-0.5",
    "MobileNet-0.75",
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "EfficientNetB0",
    "EfficientNetB1",
    "EfficientNetB2",
    "EfficientNetB3",
    "EfficientNetB4",
    "EfficientNetB5",
    "EfficientNetB6",
    "EfficientNetB7",
    "EfficientNetV2B0",
    "EfficientNetV2B1",
    "EfficientNetV2B2",
    "EfficientNetV2B3",
    "EfficientNetV2S",
    "EfficientNetV2M",
    "EfficientNetV2L",
    "ConvNeXtTiny",
    "ConvNeXtSmall",
    "ConvNeXtBase",
)


@dataclass(frozen=True)
class Preset:
    """A network of keras_hub whose weights are a model on Kaggle.

    source        OWNER/MODEL/FRAMEWORK/VARIATION/VERSION, as `model_sources` takes it
    kind          its class in keras_hub.models
    patch         pixels a side of the patches that it divides images into
    native        pixels a side of the photos that it was trained on
    architecture  further arguments of that class, so that it can be built without its weights
    """

    name: str
    source: str
    kind: str
    patch: int
    native: int
    architecture: Mapping[str, Any]

    def folders(self) -> Iterator[Path]:
        """Where the preset may lie, best first: at home, in a session, in kagglehub's cache.

        A session may have another version of the model than `source` names.
        """
        for folder in LOCAL_FOLDERS:
            yield repository() / Path(folder).expanduser() / self.name
        model, _, version = self.source.rpartition("/")
        versions = mounts() / "models" / model
        yield versions / version
        yield from sorted(versions.glob("*"), reverse=True)
        home = os.environ.get("KAGGLEHUB_CACHE") or Path.home() / ".cache" / "kagglehub"
        yield Path(home) / "models" / self.source

    @property
    def folder(self) -> Path | None:
        """The folder that holds it here; None if it is not here."""
        return next(filter(_is_preset, self.folders()), None)

    @property
    def random_weights(self) -> str:
        """A warning if the preset that is here was made for rehearsals, else ""."""
        folder = self.folder
        if folder is None or not (folder / RANDOM).is_file():
            return ""
        return (folder / RANDOM).read_text("utf-8").strip()

    @property
    def download_command(self) -> str:
        """The shell command that downloads it into kagglehub's cache."""
        return f"python -c \"import kagglehub; kagglehub.model_download('{self.source}')\""

    @property
    def how_to_get(self) -> str:
        """What to do where it is not here, as the end of a sentence."""
        if on_kaggle():
            return f"attach the model {self.source} (model_sources), as a push does"
        return (
            f"download them with `{self.download_command}`, or put the preset's files into "
            f"{LOCAL_FOLDERS[0]}/{self.name}"
        )


_SMALL: dict[str, Any] = {
    "num_layers": 12,
    "hidden_dim": 384,
    "num_heads": 6,
    "intermediate_dim": 1536,
}
_BASE: dict[str, Any] = {
    "num_layers": 12,
    "hidden_dim": 768,
    "num_heads": 12,
    "intermediate_dim": 3072,
}
_LARGE: dict[str, Any] = {
    "num_layers": 24,
    "hidden_dim": 1024,
    "num_heads": 16,
    "intermediate_dim": 4096,
}
_GIANT: dict[str, Any] = {
    "num_layers": 40,
    "hidden_dim": 1536,
    "num_heads": 24,
    "intermediate_dim": 6144,
}
_HUGE: dict[str, Any] = {
    "num_layers": 32,
    "hidden_dim": 1280,
    "num_heads": 20,
    "intermediate_dim": 5120,
}
_SIZES = {
    "small": _SMALL,
    "base": _BASE,
    "large": _LARGE,
    "giant": _GIANT | {"use_swiglu_ffn": True},
}
_GATED: dict[str, Any] = {"use_gated_mlp": True, "hidden_activation": "silu"}
_SIZES_V3 = {
    "small": _SMALL,
    "small-plus": _SMALL | _GATED,
    "base": _BASE,
    "large": _LARGE,
    "huge-plus": _HUGE | _GATED,
}
_POSITIONS: dict[str, Any] = {"position_embedding_shape": (518, 518)}
_REGISTERS: dict[str, Any] = {"num_register_tokens": 4}


def _dinov2() -> Iterator[Preset]:
    """DINOv2 (Oquab et al., 2023), without and with registers (Darcet et al., 2023)."""
    plain = _POSITIONS | {"num_register_tokens": 0}
    with_registers = _POSITIONS | _REGISTERS | {"antialias_in_interpolation": True}
    for size, own in _SIZES.items():
        source = f"keras/dinov2/keras/dinov2_{size}/1"
        yield Preset(f"dinov2-{size}", source, "DINOV2Backbone", 14, 518, own | plain)
    for size, own in _SIZES.items():
        source = f"keras/dinov2/keras/dinov2_with_registers_{size}/1"
        name = f"dinov2-registers-{size}"
        yield Preset(name, source, "DINOV2Backbone", 14, 518, own | with_registers)


def _dinov3() -> Iterator[Preset]:
    """DINOv3 (Siméoni et al., 2025), trained on the photos that it calls LVD-1689M."""
    for size, own in _SIZES_V3.items():
        source = f"keras/dinov3/keras/dinov3_vit_{size.replace('-', '_')}_lvd1689m/1"
        architecture = own | _REGISTERS | {"use_key_bias": False}
        yield Preset(f"dinov3-{size}", source, "DINOV3Backbone", 16, 256, architecture)


PRESETS = {preset.name: preset for preset in (*_dinov2(), *_dinov3())}


@dataclass(frozen=True)
class Facts:
    """What is known of a backbone here, by its name in the registry or "hub:PRESET"."""

    name: str

    @cached_property
    def family(self) -> Family:
        """What it shares with others."""
        return next(family for family in FAMILIES if self.name.startswith(family.prefix))

    @cached_property
    def preset(self) -> Preset | None:
        """The preset of the registry that it is, by its own name or by "hub:" and its source."""
        if not self.name.startswith(HUB):
            return PRESETS.get(self.name)
        written = self.name.removeprefix(HUB)
        return next((p for p in PRESETS.values() if p.source == written), None)

    @property
    def is_hub(self) -> bool:
        """Whether keras_hub builds it."""
        return self.preset is not None or self.name.startswith(HUB)

    @cached_property
    def _stored(self) -> Mapping[str, Any]:
        """The arguments of the image network in the folder of "hub:PRESET"; {} if unknown."""
        folder = folder_of(self.name.removeprefix(HUB)) if self.name.startswith(HUB) else None
        if folder is None:
            return {}
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))["config"]
            encoder = config.get("vision_encoder") or {}
            return encoder.get("config") or config
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # petals.models.hub says what is wrong with it

    @property
    def patch(self) -> int:
        """Pixels a side of its patches; 1 for a network of convolutions, or a preset elsewhere."""
        if self.preset:
            return self.preset.patch
        return patch_of(self._stored)

    @property
    def native(self) -> int | None:
        """Pixels a side of the photos that it was trained on; None if its preset is elsewhere."""
        if self.preset:
            return self.preset.native
        if self.name.startswith(HUB):
            if not self._stored:
                return None
            shape = self._stored.get("image_shape")
            side = shape[0] if isinstance(shape, list) and shape else None
            return side if isinstance(side, int) and side > 0 else COMMON_SIZE
        variant = self.name.removeprefix(self.family.prefix).lower()
        sizes = self.family.native
        return sizes.get(variant, sizes.get("", COMMON_SIZE))

    @property
    def licence_note(self) -> str:
        """What to know of the licence of its weights on Kaggle, as a part of a sentence."""
        if self.preset is None:
            return "licence: see the model's page"
        licence = Facts(self.preset.name).family.licence
        if licence == DINOV3_LICENCE:
            return f"licence: {licence}; Kaggle may ask you to accept it on the model's page first"
        return f"licence: {licence}"

    def size_problem(self, size: int) -> str:
        """Why it cannot take images of `size` pixels, as a sentence that names others; or ""."""
        patch = self.patch
        below = size // patch * patch
        if size % patch:
            fit = f"{below} or {below + patch}" if below else f"{patch} or a multiple"
            return (
                f"image_size={size}: {self.name} divides images into patches of {patch} "
                f"pixels, so set {fit}"
            )
        if size < self.family.smallest:
            return (
                f"image_size={size} is too small for {self.name}: set {self.family.smallest} or "
                "more, or 0 for the size that it was trained on"
            )
        return ""

    def nearest_size(self, size: int) -> int:
        """The largest size of at most `size` pixels that its patches divide, or one patch."""
        return max(size // self.patch, 1) * self.patch


def patch_of(config: Mapping[str, Any]) -> int:
    """Pixels a side of the patches in a network's configuration; 1 if it has none."""
    patch = config.get("patch_size")
    if isinstance(patch, list | tuple) and patch:
        patch = patch[0]
    return patch if isinstance(patch, int) and patch > 0 else 1


def folder_of(preset: str) -> Path | None:
    """The folder of what stands behind "hub:", here or among attached models; None for a name."""
    registered = Facts(HUB + preset).preset
    places = [Path(preset).expanduser(), mounts() / "models" / preset]
    if registered:
        places += registered.folders()
    places += attached(Path(preset).name)
    return next(filter(_is_preset, places), None)


def _is_preset(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def model_sources(backbone: str) -> list[str]:
    """The models on Kaggle that a backbone reads its weights from: none, or one source."""
    facts = Facts(backbone)
    if facts.preset:
        return [facts.preset.source]
    written = backbone.removeprefix(HUB).split("/") if facts.is_hub else []
    is_source = len(written) == 5 and all(written) and written[-1].isdigit()
    return ["/".join(written)] if is_source else []


def require_presets(backbones: Iterable[str], weights: str) -> None:
    """Raise an error if a backbone of keras_hub needs something that is not here.

    `SettingError` without the package keras_hub, `WeightsError` without the weights of one of the
    registry's presets. `weights`: the parameter of that name; with "none" or a file no preset is
    read. Nothing is imported and no weights are read, so that a run can ask before it spends
    minutes on its photos.
    """
    for name in backbones:
        facts = Facts(name)
        if facts.is_hub and find_spec(PACKAGE) is None:
            raise SettingError(needs_package(f"there is no module {PACKAGE}"))
        preset = facts.preset if weights in FROM_PRESET else None
        if preset and preset.folder is None:
            raise WeightsError(f"the weights of {name} are not here: {preset.how_to_get}")


def needs_package(reason: str) -> str:
    """What to do where keras_hub cannot be imported, for this reason."""
    return (
        f"this backbone needs the package {PACKAGE} ({reason}): {INSTALL}; Kaggle's images have it "
        "already"
    )


def weights_warnings(backbones: Iterable[str], weights: str) -> list[str]:
    """A sentence for each backbone whose preset here has random weights, made for a rehearsal.

    `weights`: the parameter of that name; with "none" or a file no preset is read.
    """
    if weights not in FROM_PRESET:
        return []
    presets = [Facts(name).preset for name in backbones]
    return list(filter(None, (preset.random_weights for preset in presets if preset)))
