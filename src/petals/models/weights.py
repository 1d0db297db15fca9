"""Pretrained weights of a backbone, which are found by file name."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import h5py
from tensorflow import keras

from petals import storage
from petals.errors import WeightsError
from petals.kaggle import find_file, mounts, on_kaggle
from petals.models import saved
from petals.models.backbones import Backbone

LOCAL_FOLDERS = ("weights", "data/weights", "~/.keras/models")
NOT_FILES = ("none", "imagenet", "auto")  # settings of weights that name no file


@dataclass(frozen=True)
class Weights:
    """The weights that a backbone begins with.

    `setting`: "none" leaves the network untrained, "imagenet" lets Keras download the weights or
    take them from its cache, "auto" takes the file of that name that was found, else downloads,
    "file" takes the file at `path`.
    """

    backbone: Backbone
    setting: str
    path: Path | None = None

    @classmethod
    def find(cls, backbone: Backbone, size: int, weights: str) -> Weights:
        """The weights that a setting means for images of `size` pixels.

        `weights`: "none", "imagenet", "auto", which searches the Kaggle inputs and the
        `LOCAL_FOLDERS` for a file with Keras's own name, the path of a file, or the name of one
        among the Kaggle inputs. Raises `WeightsError` for ImageNet weights that there are none of.
        """
        if weights not in NOT_FILES:
            path = Path(weights).expanduser()
            attached = find_file(weights) if path.name == weights and not path.is_file() else None
            return cls(backbone, "file", attached or path)
        names = backbone.weights_files(size)
        if not names and not backbone.preset and weights != "none":
            if weights == "imagenet":
                raise WeightsError(f"{backbone.name} has no ImageNet weights: set weights='none'")
            return cls(backbone, "none")
        if weights != "auto":
            return cls(backbone, weights)
        # Keras 3 writes the same weights under NAME.weights.h5
        names += [name.removesuffix(".h5") + ".weights.h5" for name in names]
        return cls(backbone, weights, next(filter(None, map(find_local_file, names)), None))

    @property
    def key(self) -> str:
        """Names the weights in caches: by the digest of a file, or as a download."""
        digest = storage.digest(self.path) if self.path else self.setting
        return f"{self.backbone.name}-{digest}"

    @property
    def origin(self) -> dict[str, str]:
        """Setting, file and licence of the weights, for the model's card."""
        scratch = self.setting == "none"
        licence = "none: trained from scratch" if scratch else self.backbone.family.licence
        file = self.path.name if self.path else ""
        return {"setting": self.setting, "file": file, "licence": licence}

    @property
    def stays(self) -> bool:
        """Whether a later run can find them in a file, so that a head needs no copy of them.

        Weights that a Kaggle session downloaded are lost with it; attached ones can be attached
        again.
        """
        path = self.path
        return path is not None and (not on_kaggle() or path.absolute().is_relative_to(mounts()))

    def load(self, size: int) -> keras.Model:
        """Build the backbone with them; raises `WeightsError`, whose message says what to do."""
        if self.backbone.preset and self.setting in ("imagenet", "auto"):
            return self.backbone.build(size, "imagenet")  # the preset's own, whatever they learnt
        network = self.backbone.build(size)
        if self.path:
            load_file(network, self.path, self.backbone.name)
        elif self.setting != "none":
            network.set_weights(self._download(size))
        return network

    def _download(self, size: int) -> list:
        try:
            return self.backbone.build(size, weights="imagenet").get_weights()
        except Exception as error:  # urllib, http and ssl raise different kinds
            names = " or ".join(self.backbone.weights_files(size))
            # A session, rehearsed or not, does not have the local folders.
            way = f"Attach a Kaggle dataset or model with {names}"
            if not on_kaggle():
                way = f"Put {names} into weights/"
            raise WeightsError(
                f"the ImageNet weights of {self.backbone.name} could not be downloaded "
                f"({type(error).__name__}). {way}, or set weights='none'"
            ) from None


def find_local_file(name: str) -> Path | None:
    """The first file of that name in the local folders and the Kaggle inputs."""
    if not name or Path(name).name != name:
        return None
    local = (Path(folder).expanduser() / name for folder in LOCAL_FOLDERS)
    return next((path for path in local if path.is_file()), None) or find_file(name)


def load_file(network: keras.Model, path: Path, name: str) -> None:
    """Load a weights file of either Keras generation, or of `petals.models.saved`, into a network.

    Raises `WeightsError` unless the file has this network's weights. After an error the network
    must not be used: some of its weights may be replaced.
    """
    if saved.holds(path):
        saved.load_backbone(network, path, name)
        return
    try:
        with h5py.File(path) as file:
            legacy = "layer_names" in file.attrs or "model_weights" in file
    except FileNotFoundError:
        raise WeightsError(f"no weights file at {path}") from None
    except OSError:
        raise WeightsError(f"{path} is not a Keras weights file (HDF5)") from None
    try:
        # Keras chooses its reader by the extension, but files in the old format have either one.
        with tempfile.TemporaryDirectory() as folder:
            link = Path(folder) / ("old.h5" if legacy else "new.weights.h5")
            link.symlink_to(path.resolve())
            network.load_weights(str(link))
    except Exception as error:  # Keras raises ValueError, KeyError, TypeError by the mismatch
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WeightsError(f"{path} does not fit {name}: {first}") from None
