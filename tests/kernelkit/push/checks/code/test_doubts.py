"""Calls and commands that a session cannot answer are guesses, each with a way out."""

import pytest

from kernelkit.push.checks import preflight
from kernelkit.push.checks.code.doubts import doubts
from kernelkit.push.checks.findings import PROBABLE


def guesses(repository, *cells, online=False, **wishes):
    """What the check says of these cells."""
    repository.describe(enable_internet=online)
    repository.sources(*cells)
    findings = preflight.run_checks(repository.plan(**wishes))
    return [each for each in findings if each.check == "calls"]


DOWNLOADS = [
    "import keras\nkeras.applications.EfficientNetB0(weights='imagenet')",
    "from tensorflow.keras.applications import VGG16\nVGG16()",
    "import timm\ntimm.create_model('resnet18', pretrained=True)",
    "import torchvision\ntorchvision.models.resnet18(weights='DEFAULT')",
    "from transformers import AutoModel\nAutoModel.from_pretrained('facebook/dinov2-small')",
    "import transformers as t\nt.AutoTokenizer.from_pretrained('bert-base-uncased')",
    "import keras_hub\nkeras_hub.models.Backbone.from_preset('resnet_50_imagenet')",
    "import torch\ntorch.hub.load('pytorch/vision', 'resnet18')",
    "from huggingface_hub import hf_hub_download\nhf_hub_download('a/b', 'c')",
    "from datasets import load_dataset\nload_dataset('imdb')",
    "import tensorflow_datasets as tfds\ntfds.load('oxford_flowers102')",
    "import keras\nkeras.utils.get_file('x.zip', 'https://example.org/x.zip')",
    "import nltk\nnltk.download('punkt')",
    "import pandas as pd\npd.read_csv('https://example.org/a.csv')",
    "import kagglehub\nkagglehub.model_download('google/gemma/transformers/2b')",
    "import subprocess\nsubprocess.run(['git', 'clone', 'https://example.org/x'])",
    "!wget -q https://example.org/a.zip",
    "import wandb\nwandb.init()",
    "import pandas as pd\nURL = 'https://example.org/a.csv'\npd.read_csv(URL)",
    "from transformers import AutoModel\nNAME = 'org/model'\nAutoModel.from_pretrained(NAME)",
]


@pytest.mark.parametrize("cell", DOWNLOADS)
def test_what_needs_the_network_is_named_with_the_internet_off(repository, cell):
    (found,) = guesses(repository, cell)
    assert (found.level, found.rank) == ("guess", PROBABLE)
    assert "internet" in found.text
    assert guesses(repository, cell, online=True) == []


@pytest.mark.parametrize(
    "cell",
    [
        "import keras\nkeras.applications.EfficientNetB0(weights=None)",
        "import keras\nkeras.applications.EfficientNetB0(weights='/kaggle/input/w.h5')",
        "import keras\nkeras.applications.vgg16.preprocess_input(x)",
        "import timm\ntimm.create_model('resnet18')",
        "import torchvision\ntorchvision.models.resnet18(weights=None)",
        "from transformers import AutoModel\nAutoModel.from_pretrained('/kaggle/input/x')",
        "from transformers import AutoModel\nAutoModel.from_pretrained(path)",
        "import transformers as t\nt.AutoModel.from_pretrained('a/b', local_files_only=True)",
        "import torch\ntorch.hub.load('/kaggle/input/x', 'y', source='local')",
        "import pandas as pd\npd.read_csv('train.csv')",
        "import requests\nrequests.get('http://localhost:8000/health')",
        "try:\n    import nltk\n    nltk.download('punkt')\nexcept OSError:\n    pass",
        "# timm.create_model('resnet18', pretrained=True)",
        "import os, wandb\nos.environ['WANDB_MODE'] = 'offline'\nwandb.init()",
        "import wandb\n%env WANDB_DISABLED=true\nwandb.init()",
        "import wandb\nwandb.init(mode='offline')",
        "!pip install -e . --no-deps",
        "!pip install x --no-index --find-links=file:///kaggle/input/wheels",
        "if False:\n    import nltk\n    nltk.download('punkt')",
    ],
)
def test_what_needs_no_network_is_left_alone(repository, cell):
    assert guesses(repository, cell) == []


@pytest.mark.parametrize(
    ("call", "attached"),
    [
        ("model_download('Google/gemma/transformers/2b')", "google/gemma/transformers/2b/1"),
        ("dataset_load(KaggleDatasetAdapter.PANDAS, 'anna/seeds', 'a.csv')", "anna/seeds"),
        ("dataset_load('pandas', 'anna/seeds/versions/3')", "anna/seeds"),
        ("load_dataset(adapter, handle='anna/seeds')", "anna/seeds"),
        ("competition_download('leaves')", "leaves"),
    ],
)
def test_what_kagglehub_asks_for_may_be_attached(repository, call, attached):
    cell = f"import kagglehub\nfrom kagglehub import KaggleDatasetAdapter\nkagglehub.{call}"
    (found,) = guesses(repository, cell)
    assert "needs the internet" in found.text
    kinds = {"model": "model_sources", "competition": "competition_sources"}
    repository.describe(**{kinds.get(call.split("_")[0], "dataset_sources"): [attached]})
    assert guesses(repository, cell) == []


@pytest.mark.parametrize(
    "line",
    [
        "!pip install -q -U tensorflow keras",
        "!pip install -q 'jax[tpu]==0.4.17'",
        "!pip install 'jax[tpu] == 0.4.17'",
        "!pip install \"jax>=0.4; python_version>='3.12'\"",
        "%pip install -U torch",
        "!pip install -qU jax",
        "!pip install -Uqq jax",
        "!pip install -q --force-reinstall 'numpy<2'",
        "import sys\ncommand = [sys.executable, '-m', 'pip', 'install', 'jax==0.4']",
    ],
)
def test_an_install_over_what_the_tpu_image_is_built_for_is_named(repository, line):
    (found,) = guesses(repository, line, online=True)
    assert "replaces what the TPU image is built for" in found.text
    assert guesses(repository, line, online=True, accelerator="gpu") == []


@pytest.mark.parametrize("line", ["!pip install -q jax", "!pip install -U timm", "!pip list"])
def test_an_install_that_leaves_them_as_they_are_is_not(repository, line):
    assert guesses(repository, line, online=True) == []


@pytest.mark.parametrize(
    "options",
    [
        "--root-user-action ignore",
        "--timeout 60 --retries=3",
        "-c constraints.txt",
        "-qt libs",
        "--target=/kaggle/working/libs",
        "-t /kaggle/working/libs",
        "--cache-dir /tmp/cache",
    ],
)
def test_the_value_of_an_option_is_no_package_and_no_file_of_the_session(repository, options):
    assert guesses(repository, f"!pip install {options} pandas") == []
    (found,) = guesses(repository, f"!pip install {options} unheard-of")
    assert 'add "PACKAGE==VERSION" to wheels' in found.text


def test_every_entry_is_about_calls_or_commands():
    for doubt in doubts():
        assert doubt.calls or doubt.commands
        assert bool(doubt.values) == bool(doubt.argument)
