"""The manifest that a session writes: which push it ran, and each file's size and hash.

This source becomes a cell in a pushed notebook, so it imports only the standard library, and each
function has its own imports: a notebook's `%reset` deletes the cell's names.
"""

MANIFEST = "kernelkit_manifest.json"
KAGGLES_OWN = ("__notebook", "__results__", "__output__", "__script")  # written after the last cell


def write_manifest(folder: str, push: str, complete: bool, modules: "list[str]") -> None:
    """Write name, size and SHA-256 of each file in `folder` to its `MANIFEST`, atomically.

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

    What else the session tells is written before: `kernelkit_session.before_end` holds functions
    for that, and stays None where nothing is told.

    A notebook's last cell calls `kernelkit_session.end()`; after a cell that raises an error the
    manifest is written at once, as the kernel may have only seconds left. For a script it is
    written when the process exits. A hidden rerun writes none: nobody can download its outputs.
    """
    import atexit
    import os
    import sys
    import types

    # With names of its own, since the notebook may delete or overwrite those of this cell.
    write = types.FunctionType(write_manifest.__code__, dict(globals()))

    def end(complete: bool = True) -> None:
        for finish in session.before_end:
            finish()
        try:
            write(folder, push, complete, modules)
        except OSError as error:  # a full disk, or a file deleted in the meantime
            print(f"manifest: not written, so the outputs cannot be verified: {error}")

    session = types.ModuleType("kernelkit_session")
    sys.modules[session.__name__] = session
    # A process that a script spawns runs the script again, under another name.
    if not push or __name__ == "__mp_main__" or os.environ.get("KAGGLE_IS_COMPETITION_RERUN"):
        session.end = lambda: None  # type: ignore[attr-defined]
        session.before_end = None  # type: ignore[attr-defined]
        return
    modules = image_modules(sys.path)  # before a cell installs more
    session.before_end = []  # type: ignore[attr-defined]
    session.end = end  # type: ignore[attr-defined]
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    if not shell:
        atexit.register(lambda: end(complete=not hasattr(sys, "last_value")))
        return

    def after(result: "object") -> None:
        if not getattr(result, "success", True):
            end(complete=False)

    shell.events.register("post_run_cell", after)
