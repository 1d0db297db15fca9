"""What Kaggle's images hold, by the names that one imports. Looked up on 2026-11-21.

The images are built from public lists (Kaggle/docker-python: `tpu/requirements.in` and
`kaggle_requirements.txt`), here under the names of their modules; what those bring along is what
pip resolves them to, and what an environment with the same versions holds
(`requirements-kaggle.lock`). The CPU's and the GPU's image hold far more than the TPU's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kernelkit.machines import Kind

GONE = frozenset(("asynchat", "asyncore", "imp", "smtpd"))  # Python 3.12 is without them

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

TPU = frozenset([*_TPU.split(), *_BROUGHT_ALONG.split()])
CPU_AND_GPU = TPU | frozenset(_CPU_AND_GPU.split())


def modules(kind: Kind) -> frozenset[str]:
    """The top-level modules that a session on this kind of machine can import."""
    held = TPU if kind == "tpu" else CPU_AND_GPU
    return (held | frozenset(sys.stdlib_module_names)) - GONE


def lacking(names: Iterable[str], kind: Kind) -> list[str]:
    """Those of the names that the image of this kind of machine does not hold, in order."""
    held = modules(kind)
    return [name for name in names if name not in held]
