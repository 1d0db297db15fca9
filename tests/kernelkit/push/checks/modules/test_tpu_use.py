"""A push to a TPU uses it, or is refused, or warned of, before it costs an hour."""

import pytest

from kernelkit.push.checks import preflight
from kernelkit.push.checks.findings import PROBABLE


def told(repository, *cells, **wishes):
    """What the check says of these cells, as levels and texts."""
    repository.sources(*cells)
    findings = preflight.run_checks(repository.plan(**wishes))
    return [(each.level, each.text) for each in findings if each.check == "machine-use"]


TUTORIAL = """\
import tensorflow as tf
try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    strategy = tf.distribute.TPUStrategy(tpu)
except ValueError:
    strategy = tf.distribute.get_strategy()
"""


@pytest.mark.parametrize(
    "cell",
    [
        TUTORIAL,
        "from tensorflow.distribute import TPUStrategy\nstrategy = TPUStrategy()",
        "import tensorflow.distribute as d\nd.cluster_resolver.TPUClusterResolver(tpu='local')",
        f"!pip install -q seaborn tensorflow_datasets\n{TUTORIAL}",
        f"{TUTORIAL}\nimport os\nos.environ['KERAS_BACKEND'] = 'tensorflow'",
        f"%env KERAS_BACKEND=tensorflow\n{TUTORIAL}",
        f"!KERAS_BACKEND=tensorflow python train.py\n{TUTORIAL}",
    ],
)
def test_tensorflows_way_to_a_tpu_is_refused_with_the_lines_that_mend_it(repository, cell):
    ((level, text),) = told(repository, cell)
    assert level == "error"
    assert 'os.environ["KERAS_BACKEND"] = "jax"' in text
    assert "keras.distribution.DataParallel()" in text
    assert "--accelerator gpu" in text


def test_who_knows_better_ignores_it(repository):
    ((level, _),) = told(repository, TUTORIAL, ignore=["machine-use"])
    assert level == "warning"


@pytest.mark.parametrize(
    "cell",
    [
        f"import jax\n{TUTORIAL}",
        f"{TUTORIAL}\ntry:\n    import torch_xla\nexcept ImportError:\n    pass",
        f"import os\nos.environ['KERAS_BACKEND'] = 'jax'\n{TUTORIAL}",
        f"import os\nos.environ['KERAS_BACKEND'] = backend\n{TUTORIAL}",
        f"%env KERAS_BACKEND=jax\n{TUTORIAL}",
        f"!pip install tensorflow-tpu==2.18.0\n{TUTORIAL}",
        "!KERAS_BACKEND=jax python train.py\nimport keras",
        "!KERAS_BACKEND=$backend python train.py\nimport keras",
        "import numpy",
        "x = 'TPUStrategy'  # TPUClusterResolver",
    ],
)
def test_what_may_find_the_tpu_is_left_alone(repository, cell):
    assert told(repository, cell) == []


@pytest.mark.parametrize(
    "line",
    [
        "!pip install -r wanted.txt",
        "!pip install -qr wanted.txt",
        "!pip install /kaggle/input/w/efficientnet.whl",
        "!pip install --no-index --find-links=/kaggle/input/w tf",
        "import subprocess\nsubprocess.run(['pip', 'install', wanted])",
        "!pip install -q tensorflow",
        "!pip install libtpu",
        "import sys\nif 'google.colab' in sys.modules:\n    !pip install tensorflow-tpu",
    ],
)
def test_what_may_install_another_tensorflow_makes_it_a_guess(repository, line):
    ((level, text),) = told(repository, f"{line}\n{TUTORIAL}")
    assert level == "guess"
    assert "looks for the TPU with TensorFlow" in text


def test_what_a_carried_module_imports_counts(repository):
    (repository.package / "petals.py").write_text("import jax\n")
    assert told(repository, f"from blossom import petals\n{TUTORIAL}") == []
    (repository.package / "petals.py").write_text(TUTORIAL)
    ((level, text),) = told(repository, "from blossom import petals")
    assert level == "error"
    assert text.startswith("blossom/petals.py, line 3 (and line 4) looks for the TPU")


@pytest.mark.parametrize(
    ("wheel", "levels"), [("tensorflow-tpu==2.18.0", []), ("optuna==4.6.0", ["error"])]
)
def test_a_wheel_may_be_a_tensorflow_that_knows_the_tpu(repository, wheel, levels):
    repository.configure(f'wheels = ["{wheel}"]\n')
    assert [level for level, _ in told(repository, TUTORIAL)] == levels


@pytest.mark.parametrize(
    "cell",
    [
        "import keras\nmodel = keras.Sequential()",
        "from tensorflow import keras",
        "import keras\nimport os\nos.environ['KERAS_BACKEND'] = 'jax'",  # too late
        "import keras\n%env KERAS_BACKEND=jax",
    ],
)
def test_keras_without_jax_is_the_first_guess(repository, cell):
    repository.sources(cell, "open('/kaggle/input/roses/x')", "import annoy")
    findings = preflight.run_checks(repository.plan())
    first = next(each for each in findings if each.level == "guess")
    assert (first.check, first.rank) == ("machine-use", PROBABLE)
    assert "KERAS_BACKEND=jax" in first.text


def test_keras_in_a_later_cell_than_its_backend_is_left_alone(repository):
    cells = "import os\nos.environ.setdefault('KERAS_BACKEND', 'jax')", "import keras"
    assert told(repository, *cells) == []
    assert told(repository, *reversed(cells)) != []


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_other_machines_take_what_tensorflow_has(repository, kind):
    assert told(repository, TUTORIAL, accelerator=kind) == []
