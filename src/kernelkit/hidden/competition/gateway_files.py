"""Which files a competition's gateway serves, as the texts in its module say.

A host's gateway names them in `unpack_data_paths`, as "/kaggle/input/SLUG/test.csv". Every text in
the module that ends in the path of a public file counts.
"""

from pathlib import Path

from kernelkit.notebook.code.reading import read
from kernelkit.notebook.files.own_files import EVALUATION

CORE = "core"  # the folder of what all hosts' gateways share


def find_gateway(public: Path) -> Path | None:
    """The module of a competition's gateway among its public files; None if it has none."""
    folder = public / EVALUATION
    for pattern in ("*_gateway.py", "*/*_gateway.py"):
        for path in sorted(folder.glob(pattern)):
            if path.parent.name != CORE:
                return path
    return None


def served_files(public: Path, gateway: Path) -> list[str]:
    """The paths below the public folder that a gateway's module names, in its order."""
    texts = read(gateway.read_text("utf-8", "replace"), cell=False).texts
    named = (_public_file(public, text) for text in texts)
    return list(dict.fromkeys(filter(None, named)))


def _public_file(public: Path, text: str) -> str:
    """The longest end of a text that is the path of a public file; "" if none is."""
    if "." not in text or "\n" in text:
        return ""
    parts = [part for part in text.replace("\\", "/").split("/") if part]
    for begin in range(len(parts)):
        end = parts[begin:]
        if ".." not in end and public.joinpath(*end).exists():
            return "/".join(end)
    return ""
