"""What the clients' own tests expect to find on Kaggle, as a catalogue of the local one."""

from collections.abc import Iterable
from pathlib import Path

ACCOUNT = "integrationtester"
DEVELOPER = "a-developer"  # so that its dataset leads the list, whose first one is changed
COURSE = "abalone candy cereal concrete diamonds forestfires fuel hotel housing ion red-wine songs"
DIAMONDS = "carat,cut,color,clarity,depth,table,price,x,y,z\n1,a,a,a,1,1,1,1,1,1\n"
BERT = (
    "assets/tokenizer/vocabulary.txt",
    "config.json",
    "metadata.json",
    "model.weights.h5",
    "tokenizer.json",
)
FRAUD = ("test_identity.csv", "test_transaction.csv", "train_identity.csv", "train_transaction.csv")
HOUSES = "house-prices-advanced-regression-techniques"
PACKAGE = '__package_version__ = "0.1.0"\n'
RULES_PENDING = ("jane-street-market-prediction",)
EXERCISE = f"""
competitionDataSources = ["{HOUSES}"]
datasetDataSources = ["dansbecker/home-data-for-ml-course"]
kernelDataSources = ["{DEVELOPER}/exercise-lists"]
"""
FRUITS = "datasets/moltean/fruits"
TOPIC = 'title = "Welcome"\n\n[[comments]]\nauthorName = "clover"\ncontent = "Hello"\n'


def fill(folder: Path) -> None:
    """Write the catalogue."""
    for name, text in _files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _files() -> Iterable[tuple[str, str]]:
    yield from _competitions()
    yield from _datasets()
    yield from _kernels()
    yield from _models()
    about = ("forums/getting-started", "competitions/orbit-wars", f"competitions/{HOUSES}")
    for number, place in enumerate(about, start=695158):
        yield f"{place}.topics/{number}.toml", TOPIC


def _competitions() -> Iterable[tuple[str, str]]:
    for name in ("gender_submission.csv", "test.csv", "train.csv"):
        yield f"competitions/titanic/{name}", "PassengerId,Survived\n1,0\n"
    yield "competitions/titanic.toml", 'category = "Getting Started"\n'
    yield "competitions/titanic.pages/rules.md", "One account each.\n"
    yield "boards/titanic.csv", "TeamName,Score\nOaks,0.5\n"
    yield "competitions/prized/train.csv", "a\n1\n"
    yield "competitions/prized.toml", 'category = "Featured"\nreward = "$5,000"\n'
    for number in range(20):  # the client asks for the second page of this category
        yield f"competitions/lesson-{number}/train.csv", "a\n1\n"
        yield f"competitions/lesson-{number}.toml", 'category = "Getting Started"\n'
    for name in ("train.csv", "test.csv", "sample_submission.csv"):
        yield f"competitions/{HOUSES}/{name}", "Id,SalePrice\n1461,1.0\n"
    yield f"solutions/{HOUSES}.toml", 'metric = "rmse"\ncolumns = ["Id", "SalePrice"]\n'
    for name in FRAUD:
        yield f"competitions/ieee-fraud-detection/{name}", "TransactionID\n1\n"
    answers = "TransactionID,isFraud\n1,0\n"
    yield "competitions/ieee-fraud-detection/sample_submission.csv", answers
    yield "competitions/orbit-wars/a.csv", "a\n"
    yield f"competitions/{RULES_PENDING[0]}/a.csv", "a\n"


def _datasets() -> Iterable[tuple[str, str]]:
    course = "datasets/ryanholbrook/dl-course-data"
    for folder in (course, f"{course}.versions/5"):
        for name in (*COURSE.split(), "spotify"):
            yield f"{folder}/{name}.csv", DIAMONDS if name == "diamonds" else "a\n1\n"
    private = f"datasets/{ACCOUNT}/kagglehub-test-private-dataset"
    yield f"{private}/private.txt", "private"
    yield f"{private}.toml", "isPrivate = true\n"
    for name in (
        "willianoliveiragibin/pixar-films",
        "jessicali9530/animal-crossing-new-horizons-nookplaza-dataset",
        "kerneler/brazilian-bird-observation-metadata-from-wikiaves",
        "goefft/public-datasets-with-file-types-and-columns",
        "dansbecker/home-data-for-ml-course",
        "oktayrdeki/traffic-accidents",
    ):
        yield f"datasets/{name}/dataset_results.csv", "a\n1\n"
    yield f"{FRUITS}.versions/99/fruits-360_meta/fruits-360-meta/Papers/readme.txt", "a\n"
    yield f"{FRUITS}/fruits-360_meta/readme.txt", "a\n"
    for number in range(25):  # the client asks for the second page of a search by size
        yield f"datasets/students/student-{number}/marks.csv", f"{'mark':<13999}\n"
    yield "datasets/networks/telco/calls.csv", "a\n1\n"
    yield "datasets/networks/telco.toml", 'licenseName = "ODbL-1.0"\nkeywords = ["internet"]\n'
    for number in range(11):
        yield f"datasets/bigquery/table-{number}/table.bigquery", "table"


def _kernels() -> Iterable[tuple[str, str]]:
    titanic = "kernels/alexisbcook/titanic-tutorial"
    yield f"{titanic}/submission.csv", "a\n"
    yield f"{titanic}.versions/1/my_submission.csv", "a\n"
    for number in (1, 2):
        name = f"kernels/{ACCOUNT}/private-titanic-tutorial/submission-0{number}.csv"
        yield name, "a\n"
    for number in range(26):
        yield f"kernels/{ACCOUNT}/titanic-tutorial-many-output-files/{number}.csv", "a\n"
    yield f"kernels/{ACCOUNT}/titanic-tutorial/submission.csv", "a\n"
    for slug in ("utility-script", "private-utility-script"):
        yield f"kernels/{ACCOUNT}/{slug}/{slug.replace('-', '_')}.py", "x = 1\n"
        yield f"kernels/{ACCOUNT}/{slug}.toml", 'categoryIds = ["utility script"]\n'
    bar = f'{PACKAGE}def foo():\n    return "bar"\n'
    model = f'{PACKAGE}class Model:\n    def foo(self):\n        return "this is a test package"\n'
    yield "kernels/dster/package-test.versions/1/package/__init__.py", bar
    yield "kernels/dster/package-test/package/__init__.py", model
    yield f"kernels/{ACCOUNT}/kagglehub-test-private-package/package/__init__.py", bar
    for slug in ("private-titanic-tutorial", "kagglehub-test-private-package"):
        yield f"kernels/{ACCOUNT}/{slug}.toml", "isPrivate = true\n"
    for name in ("stevemessick/numbers", "kerneler/sqlite-global-default"):
        yield f"kernels/{name}/out.csv", "a\n"
    for name in ("as-with", "lists", *("strings", "loops", "tuples", "sets", "files")):
        yield f"kernels/{DEVELOPER}/exercise-{name}/out.csv", "a\n"
        kind = "script" if name == "as-with" else "notebook"  # that one is pushed again
        yield f"kernels/{DEVELOPER}/exercise-{name}.toml", f'kernelType = "{kind}"\n{EXERCISE}'


def _models() -> Iterable[tuple[str, str]]:
    for version in (1, 2):
        for name in BERT:
            yield f"models/keras/bert/keras/bert_tiny_en_uncased/{version}/{name}", "{}"
    yield "models/keras/bert.toml", "id = 2819\n"
    private = f"models/{ACCOUNT}/test-private-model"
    yield f"{private}.toml", "isPrivate = true\n"
    yield f"{private}/pytorch/b0/1/efficientnet-b0.pth", "weights"
    many = f"{private}/keras/many-files-with-subdirectories/1"
    for name in ("config.json", "model.keras", *(f"assets/{n}.txt" for n in range(1, 26))):
        yield f"{many}/{name}", "{}"
    yield f"models/{DEVELOPER}/own-model/jax/main/1/config.json", "{}"
    yield "models/google/gemini-like/jax/main/1/config.json", "{}"
    yield "models/google/gemma/pytorch/7b/2/config.json", "{}"
    yield "models/google/bird-vocalization-classifier/other/bird/1/config.json", "{}"
