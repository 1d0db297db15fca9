"""The manifest that a session writes: which push it ran, and each file's size and hash.

This source becomes a cell in a pushed notebook, so it imports only the standard library, and each
function has its own imports: a notebook's `%reset` deletes the cell's names.
"""

MANIFEST = "kernelkit_manifest.json"
KAGGLES_OWN = ("__notebook", "__results__", "__output__", "__script")  # written after the last cell


def write_manifest(folder: str, push: str, complete: bool, modules: "list[str]") -> None:
    """Write name, size and SHA-256 of each file in `folder` to its `MANIFEST`, atomically.

    Links and `KAGGLES_OWN` are left out.

    `push` is the random number of this push, `complete` whether the notebook reached its end,
    `modules` what the image can import; later pushes choose wheels by its Python version. Small
    files come first; `sha256` is null for those that no time is left to hash.
    """
    import gc
    import hashlib
    import io
    import json
    import platform
    import time
    from pathlib import Path

    # A file that the notebook never closed gets its last bytes when the process ends.
    for thing in gc.get_objects():
        if type(thing) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
            try:
                thing.flush()
            except (OSError, ValueError):  # closed, or not for writing
                continue

    # After an error, the kernel is shut down, and Jupyter kills it five seconds later.
    until = time.monotonic() + (900 if complete else 3)

    def sha256(path: Path) -> "str | None":
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                if time.monotonic() > until:
                    return None
                digest.update(chunk)
        return digest.hexdigest()

    root = Path(folder)
    paths = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    files = []
    for size, path in sorted((path.stat().st_size, path) for path in paths):
        name = path.relative_to(root).as_posix()
        if name != MANIFEST and not name.startswith(KAGGLES_OWN):
            files.append({"name": name, "size": size, "sha256": sha256(path)})
    session = {"python": platform.python_version(), "modules": modules}
    content = {"push": push, "complete": complete, **session, "files": files}
    part = root / f"{MANIFEST}.part"
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(root / MANIFEST)


def image_modules(path: "list[str]") -> "list[str]":
    """The names of the modules in the folders of installed packages among those of `path`.

    The folders are listed and no metadata read: of 300 packages that would take a second.
    """
    from pathlib import Path

    names = set()
    for folder in map(Path, path):
        if folder.name in ("site-packages", "dist-packages") and folder.is_dir():
            for entry in folder.iterdir():
                name = entry.name
                if entry.suffix in (".py", ".so"):
                    name = name.partition(".")[0]
                if name.isidentifier() and not name.startswith("__"):
                    names.add(name)
    return sorted(names)


def begin(folder: str, push: str) -> None:
    """Arrange for the manifest of `folder` to be written at the end of the session.

    `push` is the number of the push, "" in a bundle that was not sent.

    A notebook's last cell calls `kernelkit_session.end()`; after a cell that raises an error the
    manifest is written at once, as the kernel may have only seconds left. For a script it is
    written when the process exits.

    Other cells use the module `kernelkit_session` that is made here:

    records     whether this session writes a manifest. A hidden rerun does not: nobody can download
                its outputs
    before_end  functions that write what else the session tells, called before the manifest
    tidy        called by the last cell before the end
    """
    import atexit
    import os
    import sys
    import types
    from typing import Any

    # With names of its own, since the notebook may delete or overwrite those of this cell.
    write = types.FunctionType(write_manifest.__code__, dict(globals()))

    def end(complete: bool = True) -> None:
        for finish in session.before_end:
            finish()
        try:
            write(folder, push, complete, modules)
        except OSError as error:  # a full disk, or a file deleted in the meantime
            print(f"manifest: not written, so the outputs cannot be verified: {error}")

    # A process that a script spawns runs the script again, under another name.
    is_spawned = __name__ == "__mp_main__"
    is_rerun = bool(os.environ.get("KAGGLE_IS_COMPETITION_RERUN"))
    session: Any = types.ModuleType("kernelkit_session")
    sys.modules[session.__name__] = session
    session.records = bool(push) and not is_spawned and not is_rerun
    session.before_end = []
    session.tidy = lambda: None
    session.end = lambda: None
    if not session.records:
        return
    session.end = end
    modules = image_modules(sys.path)  # before a cell installs more
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    if not shell:
        atexit.register(lambda: end(complete=not hasattr(sys, "last_value")))
        return

    def after(result: "object") -> None:
        if not getattr(result, "success", True):
            end(complete=False)

    shell.events.register("post_run_cell", after)
