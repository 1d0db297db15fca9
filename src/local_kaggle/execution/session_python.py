"""A session's own Python: a writable virtual environment on top of the image.

`pip install` in a session puts packages here, before the image's. Whatever the image holds counts
as installed, and as outside of this environment: pip neither changes nor removes it. So the links
of the image, which lead to this machine's packages, are never written through, and an installation
ends with the session.
"""

import json
import shlex
import venv
from pathlib import Path

INSTALLERS = ("apt", "apt-get", "conda", "mamba", "sudo", "uv")
"""Programs that install outside of the session's folder, or let another one do so."""
REFUSAL = (
    "rehearsal: {} is refused, because nothing walls this session off and it could change this "
    "machine's own programs: use pip, which installs into the session, or install bubblewrap"
)
# Run by a kernel when it has started. A cell may begin with an indentation, as in IPython 7, which
# Kaggle has; IPython 9 takes only the indentation that all lines have.
INDENT = """\
import re
from IPython import get_ipython
def as_the_first_line(lines):
    indentation = re.match(r"[ \\t]*", lines[0])[0] if lines else ""
    return [line.removeprefix(indentation) for line in lines]
get_ipython().input_transformers_cleanup.insert(1, as_the_first_line)  # after the empty lines
"""


def make(folder: Path, image: Path) -> Path:
    """Make the environment in `folder`, on top of the one in `image`, and return its interpreter.

    Takes some milliseconds: nothing is copied or installed.
    """
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    python = interpreter(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for packages in image.glob("lib/python*/site-packages"):
        # By addsitedir, which runs the image's own .pth files as well.
        line = f"import site; site.addsitedir({str(packages)!r})\n"
        (site / "_image.pth").write_text(line)
    for name in ("pip", "pip3"):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m pip "$@"\n')
        program.chmod(0o755)
    # Spelled out, because a kernelspec of the system would name another interpreter.
    launch = ["-m", "ipykernel_launcher", "--log-level=40", "-f", "{connection_file}"]
    spec = {"argv": [str(python), *launch], "display_name": "Python 3", "language": "python"}
    kernel = folder / "share" / "jupyter" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps(spec))
    settings = folder / "etc" / "ipython" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"c.IPKernelApp.exec_lines = [{f'exec({INDENT!r}, {{}})'!r}]\n")
    return python


def refuse_installers(folder: Path) -> None:
    """Put programs that refuse in one sentence before this machine's own `INSTALLERS`.

    They are found by name, so code that calls one by its path is not stopped.
    """
    for name in INSTALLERS:
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\necho {shlex.quote(REFUSAL.format(name))} >&2\nexit 1\n")
        program.chmod(0o755)


def interpreter(folder: Path) -> Path:
    """The path of the interpreter of the environment in `folder`."""
    return folder / "bin" / "python"
