"""Kaggle's own paths in a rehearsal: "/kaggle/input/…" leads to the session's folder.

Only root could make /kaggle, and two sessions would share it. So every Python of a session compiles
its code with the session's folders in their place, wherever the code names them: in a text, in a
shell line, in a comment. `install` is called by the image, which holds this file. Installed
packages are left as they are. This module imports nothing of `__future__`: what it compiles would
inherit that.
"""

import builtins
import json
import os
import re
from typing import Any

MOUNTS = "LOCAL_KAGGLE_MOUNTS"  # the variable with {"/kaggle/input": a folder, …} as JSON


def install() -> None:
    """Have this process compile with the session's folders; without `MOUNTS` nothing changes.

    The folders must be plain words, in Python's texts as in a shell's lines.
    """
    mounts = json.loads(os.environ.get(MOUNTS, "{}"))
    if not mounts:
        return
    places = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, mounts))})(?![\w.-])")
    plain = builtins.compile

    def moved(source: Any, filename: Any, *settings: Any, **options: Any) -> Any:
        installed = "-packages" in str(filename)  # their compiled files outlive the session
        if isinstance(source, str | bytes) and not installed:
            text = source if isinstance(source, str) else source.decode("utf-8", "surrogateescape")
            text = places.sub(lambda match: mounts[match[0]], text)
            source = text if isinstance(source, str) else text.encode("utf-8", "surrogateescape")
        return plain(source, filename, *settings, **options)

    builtins.compile = moved
