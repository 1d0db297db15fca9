"""What each call of kaggle-cli's command script must print, by the beginning of its words.

The client's exit code says little: it is 0 for a list that is empty and for a refused push. So a
call passes that ends with 0 and prints what is here, and a call for which nothing is here does not.
"""

import re

# The longest beginning counts.
OUTPUTS = {
    "--version": r"^Kaggle CLI \d",
    "forums": r"getting-started",
    "forums topics": r"695158  Welcome",
    "forums topics show": r"(?s)Topic #695158: Welcome.*Hello",
    "benchmarks topics list": r"No topics found",
    "datasets topics list": r"No topics found",
    "models topics list": r"No topics found",
    "competitions topics list": r"695159  Welcome",
    "competitions files": r"(?m)^name,size,creationDate$",
    "competitions list": r"Featured",
    "c download": r"^$|Downloading (test|sample_submission)\.csv",
    "c submit": r"Submission ref: \d+",
    "c submissions": r"(?m)^\d+,sample_submission\.csv,.*SubmissionStatus\.COMPLETE",
    "c leaderboard titanic -v -q -d": r"^$",
    "c leaderboard titanic -s": r"Oaks",
    "c pages": r"rules",
    "c init": r"template written to: \S+competition-metadata\.json",
    "k list -m": r"a-developer/exercise-",
    "k list --parent": r"a-developer/exercise-as-with",
    "k list --competition": r"a-developer/exercise-",
    "k list --dataset": r"a-developer/exercise-",
    "k list --user": r"a-developer/exercise-",
    "kernels files": r"(?m)^out\.csv,2,",
    "k init": r"template written to: \S+kernel-metadata\.json",
    "k get -p": r"Source code and metadata downloaded",
    "k get --wp": r"Source code downloaded to \./exercise-as-with",
    "kernels update": r"Kernel version 1 successfully pushed",
    "k status": r'has status "KernelWorkerStatus\.COMPLETE"',
    "k output": r"Downloading out\.csv",
    "d list -m": r"a-developer/own-dataset",
    "d list --user": r"(?m)^oktayrdeki/traffic-accidents,",
    "d list --file-type": r"students/",
    "d list --license": r"telco",
    "datasets files": r"dataset_results\.csv",
    "d init": r"template written to: \S+dataset-metadata\.json",
    "d create": r"Your public Dataset is being created",
    "datasets download": r"Dataset URL: \S+/pixar-films",
    "d download": r"Dataset URL: \S+/public-datasets-with-file-types-and-columns",
    "d version": r"Dataset version is being created",
    "datasets metadata": r"Downloaded metadata",
    "d status": r"^ready$",
    "d delete": r"Deletion cancelled|deleted successfully",
    "m init": r"template written to: \S+model-metadata\.json",
    "m list --owner": r"a-developer/",
    "m list -s": r"gemini",
    "m create": r"Your model was created",
    "m update": r"Your model was updated",
    "m get -p": r"Metadata file written",
    "m get": r'"(slug|ref)": ".*test-model"',
    "m instances init": r"template written to: \S+model-instance-metadata\.json",
    "models instances create": r"Your model instance was created",
    "models instances update": r"Your model instance was updated",
    "models instances get a-developer/test-model/jax/main -p": r"Metadata file written",
    "models instances get": r'"\w+": "main"',
    "models instances files": r"(?m)^data\.csv,8",
    "models instances versions files": r"config\.json",
    "models instances versions create": r"version was created",
    "models instances versions download": r"test-model\.tar\.gz",
    "m instances versions delete": r"Deletion cancelled|version was deleted",
    "m instances delete": r"Deletion cancelled|instance was deleted",
    "m delete": r"Deletion cancelled|model was deleted",
}


def outcome(words: list[str], exit_code: int, output: str) -> str:
    """ "passed", or what went wrong with a call of the client."""
    last = "".join(output.strip().splitlines()[-1:])
    if exit_code:
        return f"exit code {exit_code}: {last}"
    call = " ".join(words)
    known = [beginning for beginning in OUTPUTS if call.startswith(beginning)]
    if not known:
        return "nothing is known of what it should print"
    if not re.search(OUTPUTS[max(known, key=len)], output.strip()):
        return f"printed {last or 'nothing'}"
    return "passed"
