"""The manifest that a session leaves: which push it is, and what it holds of every file.

This source rides as a cell in a pushed notebook, so it imports the standard library alone, and each
function imports for itself: a notebook's `%reset` empties the cell's names.
"""

MANIFEST = "kernelkit_manifest.json"
SECONDS = 900.0  # for the hashing, at most
KAGGLES_OWN = ("__notebook", "__results__", "__output__", "__script")  # written after the last cell


def write_manifest(
    folder: str,
    push: str,
    complete: bool = True,
    seconds: float = SECONDS,
    modules: "tuple[str, ...]" = (),
) -> None:
    """Write name, size and SHA-256 of each file in `folder` to its `MANIFEST`, atomically.

    `push` is the number that the desk drew for this push, `complete` whether the notebook reached
    its end, `modules` what the image can import; the desk chooses wheels by its Python. Small files
    are hashed first; the `sha256` of those that no time was left for is null.
    """
    import hashlib
    import json
    import platform
    import time
    from pathlib import Path

    def sha256(path: "Path") -> "str | None":
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                if time.monotonic() > end:
                    return None
                digest.update(chunk)
        return digest.hexdigest()

    root, end = Path(folder), time.monotonic() + seconds
    paths = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    named = {path.relative_to(root).as_posix(): path for path in paths}
    sizes = {
        name: path.stat().st_size
        for name, path in named.items()
        if name != MANIFEST and not name.startswith(KAGGLES_OWN)
    }
    files = []
    reported = time.monotonic()
    for number, name in enumerate(sorted(sizes, key=lambda name: (sizes[name], name)), start=1):
        files.append({"name": name, "size": sizes[name], "sha256": sha256(named[name])})
        if time.monotonic() > reported + 10:
            reported = time.monotonic()
            print(f"manifest: {number} of {len(sizes)} files")
    part = root / f"{MANIFEST}.part"
    session = {"python": platform.python_version(), "modules": list(modules)}
    content = {"push": push, "complete": complete, **session, "files": files}
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(root / MANIFEST)


def begin(folder: str, push: str) -> None:
    """Have the manifest of `folder` written at the session's end, for the push of this number.

    A notebook's last cell calls `kernelkit_session.end()`; after a cell that ends in an error the
    manifest is written at once, as the kernel may have only seconds left. A script's is written
    when its process exits. A hidden rerun leaves none: its outputs come home to nobody.
    """
    import atexit
    import os
    import sys
    import time
    import types
    from importlib import metadata

    began = time.time()

    def image() -> "tuple[str, ...]":
        owners = metadata.packages_distributions()
        places = {d.name: getattr(d, "_path", None) for d in metadata.distributions()}
        new = {name for name, place in places.items() if place and place.stat().st_mtime > began}
        return tuple(sorted(module for module, by in owners.items() if not new.issuperset(by)))

    def end(complete: bool = True) -> None:
        try:
            write_manifest(folder, push, complete, modules=image())
        except OSError as error:  # a full disk, a file that is deleted meanwhile
            print(f"manifest: not written, so the desk cannot verify the outputs: {error}")

    session = types.ModuleType("kernelkit_session")
    sys.modules[session.__name__] = session
    if not push or os.environ.get("KAGGLE_IS_COMPETITION_RERUN"):
        session.end = lambda: None  # type: ignore[attr-defined]
        return
    session.end = end  # type: ignore[attr-defined]
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    if not shell:
        atexit.register(lambda: end(complete=not hasattr(sys, "last_value")))
        return

    def after(result: "object") -> None:
        if not getattr(result, "success", True):
            end(complete=False)

    shell.events.register("post_run_cell", after)
