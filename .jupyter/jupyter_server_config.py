"""What `make lab` adds to Jupyter: what only was opened has not changed.

The tab of a notebook is not marked as changed when it opens, and a save that changes nothing leaves
`git status` clean.
"""

import subprocess
import warnings
from pathlib import Path

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupytext.async_contentsmanager import build_async_jupytext_contents_manager_class

c = get_config()  # noqa: F821 - Jupyter defines it


class OpenedAsItRuns(build_async_jupytext_contents_manager_class(AsyncLargeFileManager)):
    """Notebooks come with the language that JupyterLab writes into them once the kernel runs."""

    async def get(self, *args, **kwargs):
        model = await super().get(*args, **kwargs)
        if model["type"] == "notebook" and model["content"]:
            model["content"]["metadata"].setdefault("language_info", IPythonKernel.language_info)
        return model


c.ServerApp.contents_manager_class = OpenedAsItRuns


def same_for_git(model, os_path, contents_manager):
    """Take note of the file's new size in git's index, where the filter makes it the old file.

    `git status` calls a file of another size changed before it asks the filter.
    """
    path = Path(os_path)

    def git(*arguments):
        command = ["git", "-C", str(path.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    kept = git("rev-parse", "--quiet", "--verify", f":./{path.name}")
    if path.suffix == ".ipynb" and kept and kept == git("hash-object", "--", path.name):
        git("add", "--", path.name)


# Jupyter hands its settings to the contents manager twice, and would warn that the hook was
# there before.
warnings.filterwarnings("ignore", "Overriding existing post_save_hook")
c.FileContentsManager.post_save_hook = same_for_git
