"""Which files a competition's gateway serves, as the text of its module says.

A host's gateway names them in `unpack_data_paths`, as /kaggle/input/SLUG/test.csv; each text in the
module that ends in the path of a public file counts.
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
    found = []
    for text in read(gateway.read_text("utf-8", "replace"), cell=False).texts:
        if "." not in text or "\n" in text:
            continue
        parts = [part for part in text.replace("\\", "/").split("/") if part]
        for begin in range(len(parts)):
            name = "/".join(parts[begin:])
            if (public / name).exists() and ".." not in parts[begin:]:
                found.append(name)
                break
    return list(dict.fromkeys(found))
