"""What a command of the code installs, as far as its words say."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelkit.notebook.code.records import Command
from kernelkit.notebook.language import shell

VERBS = {"install", "add", "sync"}
NEWEST = {"-U", "-I", "--upgrade", "--force-reinstall", "--ignore-installed"}
# Words by which an install takes files of the session, or what is not known.
OF_SESSION = ("--no-index", "-f*", "--find-links*", "*.whl*", "*/*", "*{*", "*$*", ".", ".[[]*")
LISTS = ("-r*", "--requirement*")  # files that name packages


@dataclass(frozen=True)
class Install:
    """A command that installs.

    packages       what it installs by name
    changed        those of them of which it asks for another version than may be there
    has_url        whether it names an address of the internet
    is_of_session  whether it takes files of the session, as far as that is known
    may_be_any     whether it may bring any package: it names files, or nothing that is known here
    """

    packages: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    has_url: bool = False
    is_of_session: bool = False
    may_be_any: bool = False


def of_command(command: Command) -> Install:
    """What a command installs: nothing by one of another kind."""
    words = shell.plain(command.words).split()
    verbs = [number for number, word in enumerate(words) if word in VERBS]
    if not verbs:
        return Install()
    words = words[verbs[0] + 1 :]
    is_newest = not NEWEST.isdisjoint(words)
    packages = set()
    changed = set()
    for requirement in _requirements(words):
        name = canonicalize_name(requirement.name)
        packages.add(name)
        if is_newest or requirement.specifier or requirement.url:
            changed.add(name)
    is_of_session = _has(words, OF_SESSION)
    return Install(
        packages=frozenset(packages),
        changed=frozenset(changed),
        has_url=any("://" in word and "file://" not in word for word in words),
        is_of_session=is_of_session,
        may_be_any=is_of_session or _has(words, LISTS) or not packages,
    )


def _has(words: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)


def _requirements(words: Sequence[str]) -> list[Requirement]:
    """The words that name packages, such as "jax[tpu]==0.4.17", and no options or paths."""
    found = []
    for word in words:
        try:
            found.append(Requirement(word))
        except InvalidRequirement:
            continue
    return found
