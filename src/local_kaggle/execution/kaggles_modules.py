"""Stand-ins for the modules that only Kaggle's image has, for the sessions of a rehearsal.

The image holds this file and one of each name in `EXPORTS`, so that `import kaggle_secrets` works.
Each says once, on stderr, that it is a stand-in and what it does.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

SECRETS = "LOCAL_KAGGLE_SECRETS"  # the session's variable with {label: secret} as JSON
PREFIX = "KAGGLE_SECRET_"  # of variables outside: KAGGLE_SECRET_NAME is the secret NAME
FILE = "secrets.json"  # in the local Kaggle's folder: {label: secret}
EXPORTS = {
    "kaggle_secrets": ("UserSecretsClient", "BackendError", "ValidationError", "NotFoundError"),
    "kaggle_datasets": ("KaggleDatasets",),
    "kaggle_gcp": (),
    "kaggle_session": (),
    "kaggle_web_client": (),
}
_WORDS = {
    "kaggle_secrets": f"secrets come from {PREFIX}NAME in the rehearsal's environment, or "
    f"from {FILE} in the local Kaggle's folder",
    "kaggle_datasets": "get_gcs_path gives the folder where the source is mounted",
}


def secrets_outside(root: Path) -> dict[str, str]:
    """The secrets that a rehearsal's session gets, by label: those of the file below `root`, then
    those of this process's environment.

    Raises `ValueError` for a file that is not one JSON object of texts.
    """
    secrets: dict[str, str] = {}
    file = root / FILE
    if file.is_file():
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
            raise ValueError(f"{file} must hold one JSON object: labels with texts")
        secrets |= content
    named = {n: value for n, value in os.environ.items() if n.startswith(PREFIX) and n != PREFIX}
    return secrets | {name.removeprefix(PREFIX): value for name, value in named.items()}


def source_of(module: str) -> str:
    """The source of a stand-in as the image holds it."""
    names = ", ".join(EXPORTS[module])
    lines = [f"import _kaggles_modules\n\n_kaggles_modules.announce({module!r})\n"]
    if names:
        lines.append(f"from _kaggles_modules import {names}\n")
    lines.append("\n\ndef __getattr__(name):\n")
    lines.append(f"    _kaggles_modules.missing({module!r}, name)\n")
    return "".join(lines)


def announce(module: str) -> None:
    """Say that a module is a stand-in, and what it does."""
    words = _WORDS.get(module, "it has nothing in it")
    print(f"rehearsal: {module} is a stand-in for Kaggle's: {words}", file=sys.stderr)


def missing(module: str, name: str) -> None:
    """Raise for a name that a stand-in does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"rehearsal: {module}.{name} works on Kaggle only")


class BackendError(Exception):
    """What Kaggle's client raises for a secret that is not attached to the notebook."""


class ValidationError(Exception):
    """What Kaggle's client raises for an empty label."""


class NotFoundError(Exception):
    """What Kaggle's client raises for an account without such credentials."""


class UserSecretsClient:
    """Kaggle's client for Secrets, with those of the rehearsal."""

    def get_secret(self, label: str) -> str:
        """The secret of this label; raises as Kaggle's client does if there is none."""
        if not label:
            raise ValidationError("Label must be non-empty.")
        secrets = json.loads(os.environ.get(SECRETS, "{}"))
        if label not in secrets:
            raise BackendError(
                f"rehearsal: no secret {label!r}: set {PREFIX}{label}, or write it into {FILE} in "
                "the local Kaggle's folder. A pushed run has none either, until it is attached on "
                "the kernel's page"
            )
        return str(secrets[label])

    def __getattr__(self, name: str) -> Any:
        """Any other method needs Kaggle."""
        raise NotFoundError(f"rehearsal: UserSecretsClient.{name} works on Kaggle only")


class KaggleDatasets:
    """Kaggle's client for copies of datasets in the cloud; here they are the mounts."""

    def get_gcs_path(self, dataset_dir: str | None = None) -> str:
        """The folder where a source is mounted, by its slug; by default the only one's."""
        root = Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
        if dataset_dir is None:
            places = sorted(path for path in root.iterdir() if path.is_symlink())
            return str(places[0] if places else root)
        return str(root / dataset_dir)
