"""A served local Kaggle, and what to push to it."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import requests
from nbformat.v4 import new_code_cell, new_notebook

from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle
from local_kaggle.wire import METHODS

KEY = "k3y-that-must-never-show"
DEADLINE = 60.0


class Desk:
    """The desk's side of the tests: calls by JSON, by the genuine CLI, and waiting."""

    def __init__(self, kaggle, folder):
        self.kaggle = kaggle
        self.folder = folder

    def url(self, method):
        """Where a method of the API is called, by its short name."""
        name = next(name for name in METHODS if name.endswith(f"/{method.lower()}"))
        return f"{self.kaggle.url}/api/v1/{name.partition('/')[0]}/{method}"

    def auth(self, user="tester"):
        return user, self.kaggle.key(user)

    def post(self, method, /, **fields):
        """One API call as `tester`, by the short name of its method."""
        return requests.post(self.url(method), json=fields, auth=self.auth(), timeout=60)

    def put(self, texts):
        """Write files of the catalogue, by their paths there."""
        for name, text in texts.items():
            path = self.kaggle.catalogue / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def used(self):
        """Bytes that the server's files take, each counted once however many names it has."""
        stats = [path.stat() for path in self.kaggle.root.rglob("*") if path.is_file()]
        return sum({stat.st_ino: stat.st_size for stat in stats}.values())

    def upload(self, data, method="StartBlobUpload", **fields):
        """The token of a blob that has arrived."""
        start = self.call(method, contentLength=len(data), **fields)
        assert requests.put(start["createUrl"], data=data, timeout=60).status_code == 200
        return start["token"]

    def call(self, method, /, **fields):
        """The answer of a call that must succeed."""
        response = self.post(method, **fields)
        assert response.status_code == 200, response.text
        return response.json()

    def save(self, slug, text, **fields):
        """SaveKernel of a Python script, unless told otherwise."""
        request = {"slug": f"tester/{slug}", "newTitle": slug, "text": text, "isPrivate": True}
        kinds = {"language": "python", "kernelType": "script"}
        return self.call("SaveKernel", **request | kinds | fields)

    def status(self, slug, version=None):
        return self._session(slug, version).get("status", "QUEUED")

    def failure(self, slug):
        """Why the first version ended, in the server's words."""
        return self._session(slug, 1).get("failureMessage", "")

    def _session(self, slug, version):
        label = f"v{version}" if version else ""
        session = {"userName": "tester", "kernelSlug": slug, "versionLabel": label}
        return self.call("GetKernelSessionStatus", **session)

    def finish(self, slug, version=1):
        """The status of a version once it is over."""
        self.wait_for(lambda: self.status(slug, version) not in ("QUEUED", "RUNNING"))
        return self.status(slug, version)

    def wait_for(self, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)

    def output(self, slug, **fields):
        """The files and the log of the first version."""
        version = {"userName": "tester", "kernelSlug": slug, "versionLabel": "v1"}
        return self.call("ListKernelSessionOutput", **version, **fields)

    def log(self, slug):
        """What the run said; a kernel that is slow to end says besides that it was interrupted."""
        events = json.loads(self.output(slug).get("log") or "[]")
        lines = "".join(event["data"] for event in events).splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("[IPKernelApp]"))

    def cli(self, *words, user="tester"):
        """Run the genuine command line, unmodified, as a subprocess; "" is nobody."""
        command = [sys.executable, "-m", "kaggle", *words]
        environment = self.kaggle.client_environment(user=user or "tester")
        if not user:
            del environment["KAGGLE_USERNAME"], environment["KAGGLE_KEY"]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, cwd=self.folder
        )


def notebook(*cells, **metadata):
    """The JSON of a notebook with a kernelspec, unless the metadata say otherwise."""
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made = new_notebook(cells=[*map(new_code_cell, cells)])
    return json.dumps(made | {"metadata": spec | metadata})


@pytest.fixture(scope="module")
def context(request, tmp_path_factory):
    """By Kaggle's figures without its delays, with rules to accept, or by a module's `LIMITS`."""
    delays = dict.fromkeys(("lag_seconds", "dataset_seconds", "score_seconds"), 0.0)
    usual = ServerLimits(**delays, page_size=3, rules_pending=("strict", "meadow/gated"))
    limits = getattr(request.module, "LIMITS", usual)
    root = tmp_path_factory.mktemp("local")
    accounts = {"tester": KEY, "other": "another-key"}
    tokens = {"KGAT_token": "tester"}
    with LocalKaggle(root / "kaggle", limits=limits, accounts=accounts, tokens=tokens) as kaggle:
        yield Desk(kaggle, root)


@contextmanager
def signed_in(kaggle, user="tester"):
    """The genuine client in this process, for the length of a block."""
    with kaggle.attach(user):
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = KaggleApi()
        api.authenticate()
        yield api


@pytest.fixture
def api(context):
    """The genuine client, signed in as `tester`."""
    with signed_in(context.kaggle) as api:
        yield api


@pytest.fixture
def other(context):
    """The genuine client, signed in as `other` from here on."""
    with signed_in(context.kaggle, "other") as api:
        yield api


def write_folder(folder, texts, **metadata):
    """A folder with these texts and, by the kind of what it is of, metadata for the client."""
    folder.mkdir(exist_ok=True)
    for kind, fields in metadata.items():
        texts |= {f"{kind.replace('_', '-')}-metadata.json": json.dumps(fields)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return str(folder)


@pytest.fixture
def dataset(tmp_path):
    """Makes a folder of a dataset of `tester` with these files, and metadata beside the usual."""

    def make(slug, files, **metadata):
        usual = {"id": f"tester/{slug}", "title": slug, "licenses": [{"name": "CC0-1.0"}]}
        return write_folder(tmp_path / slug, files, dataset=usual | metadata)

    return make


SCRIPT = {
    "code_file": "work.py",
    "language": "python",
    "kernel_type": "script",
    "enable_internet": False,
}


@pytest.fixture
def script(tmp_path):
    """Makes a folder of a kernel of `tester` with this script, and metadata beside the usual."""

    def make(slug, text="print(1)", **metadata):
        usual = {"id": f"tester/{slug}", "title": slug, **SCRIPT}
        return write_folder(tmp_path / slug, {"work.py": text}, kernel=usual | metadata)

    return make
