"""Kaggle's machines: their names in the API, the limits of an account, the modules of their images.

Kaggle publishes neither the shapes nor the limits. They come from `kernels push --accelerator`,
public threads (Kaggle/kaggle-cli #1197) and the site's own limits as of November 2026.

The images are built from public lists (Kaggle/docker-python: `tpu/requirements.in` and
`kaggle_requirements.txt`), as of 2026-11-21; the modules are listed under their import names. Their
dependencies are those that pip resolves for the same versions (`requirements-kaggle.lock`). The CPU
and GPU images contain far more than the TPU image.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kernelkit.errors import PreflightError, nearest

Kind = Literal["tpu", "gpu", "cpu"]


@dataclass(frozen=True)
class Machine:
    """A machine that a push can request: its `shape` in the API (empty for the plain CPU)."""

    shape: str
    kind: Kind
    words: str
    common: bool = True  # whether every account may request it


@dataclass(frozen=True)
class SessionLimits:
    """The limits of one account for one kind of machine."""

    sessions: int
    hours_per_session: float
    hours_per_week: float | None


MACHINES = (
    Machine("", "cpu", "CPU"),
    Machine("TpuV5E8", "tpu", "TPU v5e-8"),
    Machine("TpuV6E8", "tpu", "TPU v6e-8", common=False),
    Machine("NvidiaTeslaT4", "gpu", "GPU T4 x2"),
    Machine("NvidiaTeslaT4Highmem", "gpu", "GPU T4 x2, high memory", common=False),
    Machine("NvidiaTeslaA100", "gpu", "GPU A100", common=False),
    Machine("NvidiaL4", "gpu", "GPU L4 x4", common=False),
    Machine("NvidiaL4X1", "gpu", "GPU L4", common=False),
    Machine("NvidiaH100", "gpu", "GPU H100", common=False),
    Machine("NvidiaRtxPro6000", "gpu", "GPU RTX Pro 6000", common=False),
)

TODAY = {"tpu": "TpuV5E8", "gpu": "NvidiaTeslaT4", "cpu": "", "none": ""}

# The machine that the server silently substitutes for a retired shape.
RETIRED = {
    "NvidiaTeslaP100": "NvidiaTeslaT4",
    "TpuV38": "TpuV5E8",
    "Tpu1VmV38": "TpuV5E8",
    "TpuV232": "",
    "TpuV2256": "",
}

LIMITS: dict[Kind, SessionLimits] = {
    "tpu": SessionLimits(sessions=1, hours_per_session=9, hours_per_week=20),
    "gpu": SessionLimits(sessions=2, hours_per_session=12, hours_per_week=30),
    "cpu": SessionLimits(sessions=5, hours_per_session=12, hours_per_week=None),
}

_BY_SHAPE = {machine.shape: machine for machine in MACHINES}


def named(name: str) -> Machine:
    """The machine that `tpu`, `gpu`, `cpu` or a shape means.

    Raises `PreflightError` for a retired or unknown shape; the message names the one to use.
    """
    if name.lower() in TODAY:
        return _BY_SHAPE[TODAY[name.lower()]]
    if name in RETIRED:
        instead = _BY_SHAPE[RETIRED[name]]
        raise PreflightError(
            f"machine shape {name} is retired, and Kaggle would run on {instead.words} instead "
            f"without saying so: use {instead.shape or 'cpu'}, or tpu for the current TPU"
        )
    if name in _BY_SHAPE:
        return _BY_SHAPE[name]
    shapes = ["tpu", "gpu", "cpu", *filter(None, _BY_SHAPE)]
    raise PreflightError(f"no machine shape is called {name!r}: {nearest(name, shapes)}")


def as_written(shape: str) -> Machine:
    """The machine for any shape; the kind of an unknown one is inferred from its name."""
    if shape in _BY_SHAPE:
        return _BY_SHAPE[shape]
    kinds: dict[str, Kind] = {"tpu": "tpu", "nvidia": "gpu", "gpu": "gpu"}
    starts = [kind for start, kind in kinds.items() if shape.lower().startswith(start)]
    return Machine(shape, starts[0] if starts else "cpu", shape, common=False)


# Python versions of Kaggle's images: 3.12 until September 2026; 3.13 was reported in October.
PYTHONS = ((3, 13), (3, 12))
GONE = frozenset(("asynchat", "asyncore", "imp", "smtpd"))  # removed in Python 3.12

_TPU = """
accelerate albumentations cv2 diffusers distrax einops fastparquet flax grain haiku ipywidgets jax
jaxlib jraph jupyterlab kaggle_datasets kaggle_gcp kaggle_secrets kaggle_session kaggle_web_client
kagglehub keras keras_cv keras_hub keras_nlp libtpu matplotlib notebook optax pandas papermill
pyarrow pylsp qwix seaborn sklearn tensorflow tensorflow_datasets tensorflow_hub tensorflow_io
tensorflow_probability timm torch torch_xla torchaudio torchvision tpu_info transformers trax
tunix
"""
_BROUGHT_ALONG = """
absl aiofiles aiohappyeyeballs aiohttp aiosignal albucore annotated_types anyio argon2
array_record arrow astroid asttokens astunparse async_lru attr attrs autopep8 babel black bleach
bs4 certifi cffi charset_normalizer chex clang click cloudpickle colorama comm contourpy cramjam
cycler dateutil debugpy decorator defusedxml dill distutils docstring_parser entrypoints etils
executing fastjsonschema filelock flake8 flatbuffers fontTools frozenlist fsspec functorch gast
google grpc h11 h5py httpcore httpx huggingface_hub humanize idna immutabledict importlib_metadata
ipykernel IPython isort jedi jinja2 jmp joblib json5 jsonschema jupyter jupyter_client
jupyter_core jupyter_events jupyter_lsp jupyter_server jupyterlab_server kiwisolver lark markdown
markdown_it markupsafe matplotlib_inline mdurl mistune ml_dtypes mpl_toolkits mpmath msgpack
multidict namex narwhals nbclient nbconvert nbformat networkx numpy OpenSSL opt_einsum optree
orbax packaging pandocfilters parso pasta pathspec pexpect PIL pip pkg_resources platformdirs
portpicker prometheus_client promise prompt_toolkit propcache psutil ptyprocess pure_eval
pycodestyle pycparser pydantic pydantic_core pydocstyle pyflakes pygments pylab pylint pyparsing
pytz referencing regex requests rich rope rpds safetensors scipy sentencepiece setuptools
shellingham simple_parsing six soupsieve stack_data sympy tabulate tenacity tensorboard
tensorflow_metadata tensorflow_text tensorstore termcolor tf_keras threadpoolctl tinycss2
tokenizers toml tomlkit toolz torchgen tornado tqdm traitlets tree treescope triton typer
typing_extensions typing_inspection tzdata ujson urllib3 wcwidth webcolors webencodings websocket
werkzeug wheel widgetsnbextension wrapt yaml yapf yarl zipp zmq
"""
_CPU_AND_GPU = """
altair annoy bayes_opt bokeh boruta boto3 botocore bq_helper cartopy catboost category_encoders
cesium Crypto cvxpy cytoolz dask datasets deap dipy distributed docker easyocr eli5 emoji fastai
fastcore fasttext featuretools fiona folium fury fuzzywuzzy gdown gensim geojson geopandas
graphviz gym gymnasium h2o haversine hep_ml holidays hyperopt ignite igraph imagehash imageio
imblearn ipympl isoweek janome kaggle kaggle_environments keras_tuner kmodes kornia langid
learntools libpysal librosa lightgbm lightning lime line_profiler llvmlite lxml mlcrate mlxtend
mne moviepy mpld3 multiprocess nbdev nibabel nilearn nltk numba numexpr olefile onnx openpyxl
openslide optuna osqp pandas_profiling pandasql path patsy pdf2image peft plotly polars pooch
preprocessing prophet pudb pyarabic pycuda pydegensac pydicom pydot pyemd pyexcel_ods pyLDAvis
pymc pymongo pympler pypdf PyPDF2 pyproj pytesseract pytorch_lightning pyupset qtconsole ray rgf
rtree s3fs scikitplot segment_anything sentence_transformers shap shapely SimpleITK skimage
sklearnex skmultilearn skopt smart_open soundfile spacy sqlalchemy squarify statsmodels surprise
tables tensorflow_cloud tensorflow_decision_forests textblob theano tifffile torchao torchdata
torchinfo torchmetrics torchtune tpot vtk wand wandb wavio wordcloud xarray xgboost xvfbwrapper
ydata_profiling ydf yellowbrick yfinance
"""

_DISTRIBUTIONS = {  # those that are not named as the module that they bring
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "absl": "absl-py",
    "argon2": "argon2-cffi",
    "attr": "attrs",
    "bayes_opt": "bayesian-optimization",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "google": "protobuf",
    "grpc": "grpcio",
    "haiku": "dm-haiku",
    "ignite": "pytorch-ignite",
    "imblearn": "imbalanced-learn",
    "mpl_toolkits": "matplotlib",
    "openslide": "openslide-python",
    "pkg_resources": "setuptools",
    "pylab": "matplotlib",
    "rgf": "rgf-python",
    "scikitplot": "scikit-plot",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "skmultilearn": "scikit-multilearn",
    "skopt": "scikit-optimize",
    "surprise": "scikit-surprise",
    "tree": "dm-tree",
    "umap": "umap-learn",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}

TPU = frozenset([*_TPU.split(), *_BROUGHT_ALONG.split()])
CPU_AND_GPU = TPU | frozenset(_CPU_AND_GPU.split())


def distribution(module: str) -> str:
    """The name under which pip installs a top-level module, such as grpcio for grpc."""
    return _DISTRIBUTIONS.get(module, module.replace("_", "-"))


def modules(kind: Kind) -> frozenset[str]:
    """The top-level modules that a session on this kind of machine can import."""
    packages = TPU if kind == "tpu" else CPU_AND_GPU
    return (packages | frozenset(sys.stdlib_module_names)) - GONE


def lacking(names: Iterable[str], kind: Kind) -> list[str]:
    """The names that are missing from the image of this kind of machine, in order."""
    present = modules(kind)
    return [name for name in names if name not in present]
