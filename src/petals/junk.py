"""Files and folders that systems and editors leave among a user's own."""

# `._NAME` files and `__MACOSX` come from macOS, `Thumbs.db` and `desktop.ini` from Windows,
# `@eaDir` from a network disk; `.ipynb_checkpoints` and other hidden names from editors.
_NAMES = frozenset({"__macosx", "thumbs.db", "desktop.ini", "@eadir", "$recycle.bin"})


def is_junk(name: str) -> bool:
    """Whether a file or folder of this name is nobody's data: hidden, or made by the system."""
    return name.startswith(".") or name.lower() in _NAMES
