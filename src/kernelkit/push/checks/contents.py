"""The checks of a push's contents: parameters, code, size, modules and credentials."""

import ast
import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from kernelkit import files, image
from kernelkit.credentials import find_secrets
from kernelkit.errors import NotebookError
from kernelkit.kaggle.client import PLACEHOLDERS, SOURCES
from kernelkit.machines import Kind
from kernelkit.notebook import document, magics, pairs, rules, search_path
from kernelkit.notebook.modules import KEPT, files_started, files_written, parsed
from kernelkit.project import repository
from kernelkit.push.bundle.build import MAX_BYTES, is_kits_own
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.checks.mentions import Mention, mentions
from kernelkit.push.ledger import Ledger
from kernelkit.push.plan import Plan
from kernelkit.runs import kit_folder

OUTPUT = "output"  # the parameter with the folder that a run writes to
WARN_SHARE = 0.8  # of the largest size
MOST_PLACES = 4  # to name besides the first
LARGEST = 3  # files and cells to name where the bundle is too large
SMALLEST = 50_000  # bytes of one that is named
# A call such as pd.read_csv("data/train.csv"), but not open("log.txt", "w").
READS = re.compile(r"(?:read|load|open)\w*\(\s*[\"']([^\"'\n]+)[\"'](?!\s*,\s*[\"'][wax])")
# Code that does one thing on Kaggle and another here. A comment or a name of a package is none.
KNOWS_KAGGLE = re.compile(r"(?i)/kaggle\b|\bKAGGLE_|\bkagglehub\b|\b(?:is|in|on)_?kaggle\b")
MOUNTS = ("competitions", "datasets", "models", "notebooks")  # the folders below /kaggle/input
READS_SECRETS = re.compile(r"(?m)^\s*(?:from|import)\s+kaggle_secrets\b")
# Its arguments, up to a redirection such as `> /dev/null`, or another command.
INSTALLS = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+install\s+((?:(?!\s\d?>)[^;&|])*)")
NEWEST = re.compile(r"(?:^|\s)(?:-U|-I|--upgrade|--force-reinstall|--ignore-installed)\b")
FROM_FILES = re.compile(
    r"--no-index|--find-links|requirements|(?:^|\s)(?:-[fr]\s|[\"']?(?:[./${]|file:))|\.whl\b"
)
FETCHES = re.compile(
    r"(?:^|[;&|]\s*)(?:sudo\s+)?(?:wget|curl|gdown|aria2c|huggingface-cli|hf|git\s+(?:lfs\s+)?"
    r"(?:clone|pull)|apt(?:-get)?(?:\s+-\S+)*\s+(?:install|update)|kaggle\s+\w+\s+download)\b"
)
OWN_MODULE = (
    "{place} imports {module}, which is your own, in {where}, and nothing brings it into the "
    "session: move it beside the code that imports it, add its folder to sys.path there, or make "
    "it a package and name it in packages of [tool.kernelkit]"
)
# Code after which more modules may be there than the image has.
BRINGS = re.compile(
    r"\b(?:pip[\d.]*|conda|mamba)[\"',\s]+install\b"
    r"|\b(?:uv|poetry)\s+(?:pip\s+)?(?:install|add|sync)\b"
    r"|\b(?:unzip|tar|git\s+clone|cp\s+-\w*r\w*)\s|\bgit[\"',\s]+clone\b"
    r"|\bextractall\(|\bunpack_archive\(|\bcopytree\(|\bsnapshot_download\("
)
# Kernel sources that bring packages: Kaggle's package manager, and scripts of utilities.
PACKAGE_MANAGER = "packagemanager/"
COLAB = {
    "drive": "there is no Google Drive: attach the data as a dataset, and read it from "
    "/kaggle/input",
    "files": "there is no browser to ask: attach the data as a dataset, and leave results in "
    "/kaggle/working",
    "auth": "nobody can sign in: attach the data as a dataset",
    "output": "there is no Colab page to show it in",
}
DEFINES_MAGICS = re.compile(
    r"\bregister_\w*magic|\bload_ipython_extension\b|\bmagics_class\b"
    r"|^\s*%?(?:re)?load_ext\b|\brun_line_magic\([\"']load_ext",
    re.MULTILINE,
)
_COLAB_CALLS = re.compile(
    r"\b(?:drive\.(?:mount|flush_and_unmount)|files\.(?:upload|download)|auth\.authenticate_user)\b"
)
INSTEAD = {
    "shell": "use %%bash",
    "tensorflow_version": "delete the line",
    "md": "make it a Markdown cell",
    "sql": "load an extension that has it (%load_ext), or use Python",
    "bigquery": "%load_ext google.cloud.bigquery first",
    "autoreload": "%load_ext autoreload first",
    "tensorboard": "%load_ext tensorboard first",
    "memit": "%load_ext memory_profiler first",
    "mprun": "%load_ext memory_profiler first",
    "lprun": "%load_ext line_profiler first",
}


def parameters(plan: Plan) -> Iterator[Finding]:
    """Several cells of parameters, and violations of the project's own rules by each run's."""
    yield from _parameters_cells(plan)
    if not plan.project.check:
        return
    attached = {kind: plan.metadata.sources(kind) for kind in SOURCES}
    notebook = plan.project.beside or plan.metadata.code_file
    runs = plan.starts or (plan.parameters,)
    try:
        answers = rules.problems(plan.project, notebook, runs, attached)
    except NotebookError as raised:
        answers = [[str(raised)]]
    yield from map(error, dict.fromkeys(text for lines in answers for text in lines))


def _parameters_cells(plan: Plan) -> Iterator[Finding]:
    """Which of several cells tagged `parameters` counts."""
    file, is_script = plan.metadata.code_file, plan.metadata.is_script
    notebook = document.read_script(file) if is_script else document.read_json(file)
    cells = document.parameters_cells(notebook)
    if len(cells) < 2:
        return
    first, *later = cells
    kind = "block" if is_script else "cell"
    others = ", ".join(f"{kind} {number}" for number in later)
    yield warning(
        f"{file.name} has {len(cells)} {kind}s tagged 'parameters'. As with papermill, -p sets "
        f"names of the first one, {kind} {first}, and {others} runs after the values are set"
    )


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    metadata = plan.metadata
    has = {f"{name}={value}" for name, value in plan.values}
    needed = {}
    for need, settings in plan.project.needs.items():
        given = [setting for setting in settings if setting in has]
        if given:
            needed[need] = given[-1]
    attached = any(map(metadata.sources, ("dataset", "model", "kernel")))
    internet = needed.get("internet")
    download = not attached and needed.get("download")
    if metadata.online and (internet or download):
        yield warning("Kaggle ignores enable_internet for accounts without a verified phone")
    elif internet:
        yield error(f"{internet} needs the internet, which is off: set enable_internet to true")
    elif download:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )
    if "competition" in needed and not metadata.sources("competition"):
        yield error(
            f"{needed['competition']} reads the competition's files: add it to competition_sources"
        )
    if "desk" in needed:
        yield error(f"{needed['desk']} works only locally: what it needs is not part of a push")
    if not metadata.online:
        yield from downloads(plan)


def downloads(plan: Plan) -> Iterator[Finding]:
    """Shell lines that use the network, in a session without internet."""
    for place, source in plan.bundle.code:
        if plan.metadata.is_script:  # in a file, no line is the shell's
            return
        for line in magics.shell_lines(source):
            if install := INSTALLS.search(line):
                online = not (FROM_FILES.search(install[1]) or _is_installed(install[1], plan))
                instead = 'add "PACKAGE==VERSION" to wheels in [tool.kernelkit]'
            else:
                online = bool(FETCHES.search(line))
                instead = "attach what it downloads as a dataset"
            if online:
                yield warning(
                    f"{place} runs `{line[:80]}` and the internet is off: {instead}, or set "
                    "enable_internet to true"
                )


def _is_installed(arguments: str, plan: Plan) -> bool:
    """Whether the image has all these packages, whose versions are left open."""
    names = [canonicalize_name(word.strip("\"'")) for word in arguments.split() if word[0] != "-"]
    seen = held(plan.project.runs, plan.kind)
    packages: set[str] = set()
    for module in seen or ():
        packages.add(canonicalize_name(image.distribution(module) or module))
    if seen is None:
        packages.update(image.distributions(plan.kind))
    return not NEWEST.search(arguments) and packages.issuperset(names)


def pair(plan: Plan) -> Iterator[Finding]:
    """A notebook that differs from its paired text."""
    if difference := pairs.difference(plan.metadata.code_file):
        yield error(difference)


def paths(plan: Plan) -> Iterator[Finding]:
    """Parameters and reads of code that name what exists only on this machine."""
    values = {(name, value) for name, value in plan.values if isinstance(value, str)}
    for name, value in sorted(values):
        if "/" in value and name != OUTPUT and _is_here(value):
            yield error(
                f"{name}={value} is on this machine only: attach its contents (kernelkit upload "
                "FOLDER) and give the path at which the session has them"
            )
    yield from _local_reads(plan)


def _local_reads(plan: Plan) -> Iterator[Finding]:
    """Files beside the notebook that code reads, unless it writes them or knows Kaggle."""
    text = "\n".join(source for _, source in plan.bundle.code)
    folder = plan.metadata.code_file.parent
    places: dict[str, list[str]] = {}
    if not KNOWS_KAGGLE.search(text):
        reads = READS.findall(text)
        for place, source in plan.bundle.code:
            for name in dict.fromkeys(READS.findall(source)):
                if name.startswith("../input/"):  # Kaggle's place for inputs: see `mounts`
                    continue
                if _is_here(str(folder / name)) and reads.count(name) == text.count(name):
                    places.setdefault(name, []).append(place)
    for place, source in plan.bundle.code:
        for name in dict.fromkeys(files_started(source)):
            own = not Path(name).is_absolute() and files.is_file(folder / name)
            if own and folder / name != plan.metadata.code_file:
                places.setdefault(name, []).append(place)
    known = {*plan.bundle.places, *plan.bundle.stays, *_written(plan)}
    for name, where in places.items():
        if name not in known:
            yield warning(
                f"{several(where)} reads {name}, which is not pushed: attach it, or the "
                "competition that has it, and read it from /kaggle/input"
            )


def _written(plan: Plan) -> set[str]:
    """The files that cells write with `%%writefile`, and the Python files that they write."""
    written = (magics.written(source) for _, source in plan.bundle.code)
    named = {file.path for file in written if file}
    return named.union(*(files_written(source) for _, source in plan.bundle.code))


def several(places: Iterable[str]) -> str:
    """Places in one text: "train.ipynb[cell 2] (and cell 4, cell 7)"; of many, the first."""
    first, *others = dict.fromkeys(places)
    if not others:
        return first
    if len(others) > MOST_PLACES:
        return f"{first} (and {len(others)} more)"
    file, bracket, _ = first.partition("[cell ")
    if bracket and first.endswith("]"):  # no line follows, as in scripts
        others = [each.removeprefix(f"{file}[").removesuffix("]") for each in others]
    return f"{first} (and {', '.join(others)})"


def _is_here(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that code looks for at Kaggle's former mount points, or that are not attached."""
    named: dict[str, list[Mention]] = {}
    for mention in mentions(plan.bundle.sources):
        named.setdefault(mention.name.lower(), []).append(mention)
    attached = set(MOUNTS)
    for kind in SOURCES:
        for source in plan.metadata.sources(kind):
            parts = source.split("/")[:2]
            attached.add(parts[-1].lower())
            found = named.get(parts[-1].lower(), [])
            old = [mention for mention in found if not mention.searched]
            knows = re.compile(rf"\b{kind}s[/'\"]").search
            if old and kind != "kernel" and not any(knows(text) for _, text in plan.bundle.sources):
                today = _mount(kind, source)
                yield warning(
                    f"{_where(plan, old)} reads /kaggle/input/{old[0].name}, an older mount that "
                    f"some machines no longer have: Kaggle mounts it at {today}"
                )
    own = {place for place, _ in plan.bundle.code}
    for name, where in named.items():
        in_cells = [mention for mention in where if mention.place in own and mention.needed]
        if in_cells and name not in attached:
            yield warning(_unattached(plan, in_cells))


def _mount(kind: str, source: str) -> str:
    """Where Kaggle mounts a source: slugs are in lower case, whatever the metadata's capitals."""
    owner, slash, slug = "/".join(source.split("/")[:2]).rpartition("/")
    if owner.upper() not in PLACEHOLDERS:
        owner = owner.lower()
    return f"/kaggle/input/{kind}s/{owner}{slash}{slug.lower()}"


def _unattached(plan: Plan, where: Sequence[Mention]) -> str:
    """What to say of a folder below /kaggle/input that no source has."""
    name = where[0].name
    place = _where(plan, where)
    sources = [source for kind in SOURCES for source in plan.metadata.sources(kind)]
    if all(mention.relative for mention in where) and len(sources) == 1:
        kind = next(kind for kind in SOURCES if plan.metadata.sources(kind))
        today = _mount(kind, sources[0])
        return (
            f"{place} reads ../input/{name}, where Kaggle once mounted the files of a single "
            f"source: if it is in {sources[0]}, it is at {today}/{name} today; otherwise attach "
            "what has it"
        )
    return (
        f"{place} reads /kaggle/input/{name}, but no source of that name is attached: add it to "
        "the sources in kernel-metadata.json"
    )


def _where(plan: Plan, found: Sequence[Mention]) -> str:
    """The places of mentions; in a script with their lines."""
    if plan.metadata.is_script:
        return several(f"{each.place}, line {each.line}" for each in found)
    return several(each.place for each in found)


def size(plan: Plan) -> Iterator[Finding]:
    """A bundle that exceeds Kaggle's size limit, or comes near it."""
    if plan.bundle.size >= WARN_SHARE * MAX_BYTES:
        advice = "move data out of the packages or cells, or name files that a run does not need "
        advice += "in leave_out of [tool.kernelkit]"
        if not plan.bundle.places:
            advice = "move data out of the cells, and delete pictures that were pasted into them"
        yield (error if plan.bundle.size >= MAX_BYTES else warning)(
            f"the bundle has {plan.bundle.size / 1000:.0f} kB, and Kaggle accepts "
            f"{MAX_BYTES / 1000:.0f} kB: {advice}{_largest(plan)}"
        )


def _largest(plan: Plan) -> str:
    """The largest bundled files and cells, as the end of a sentence."""
    sizes = []
    for name, text in plan.bundle.texts:
        # An attachment is decoded here, and travels encoded; nobody can leave the kit out.
        if not name.endswith(" attachment") and not is_kits_own(name):
            sizes.append((len(text.encode()), name))
    largest = [each for each in sorted(sizes, reverse=True)[:LARGEST] if each[0] >= SMALLEST]
    if not largest:
        return ""
    return ". The largest: " + ", ".join(f"{name} ({size / 1000:.0f} kB)" for size, name in largest)


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, own modules that are not sent, and magics that nothing has."""
    yield from not_python(plan.bundle.code, cells=not plan.metadata.is_script)
    yield from not_python(plan.bundle.modules)
    brought = _brings_modules(plan) and any(map(plan.metadata.sources, SOURCES))
    for module, reason in plan.bundle.stays.items():
        # An import that may fail (`try: … except ImportError`) is not needed.
        needed = module in plan.bundle.imports or "." in module
        level = error if needed and not brought else warning
        yield level(f"{module} is not pushed: {reason}")
    yield from map(warning, (*plan.bundle.notes, *plan.bundle.writes))
    if not plan.metadata.is_script:
        yield from _unknown_magics(plan)
    yield from _of_colab(plan)


def _unknown_magics(plan: Plan) -> Iterator[Finding]:
    """Magics that IPython does not have, unless something may define them."""
    places: dict[str, list[str]] = {}
    for place, source in plan.bundle.code:
        if "%" not in source:
            continue
        unknown = [each for each in magics.called(source) if each[0] not in magics.BUILT_IN]
        if not unknown or not document.syntax_error(place, source)[0]:
            continue  # in plain Python, % is an operator
        for name, of_cell in unknown:
            called = f"%%{name}" if of_cell else f"%{name}"
            places.setdefault(called, []).append(place)
    if not places or any(DEFINES_MAGICS.search(source) for _, source in plan.bundle.sources):
        return
    for name, where in places.items():
        remedy = INSTEAD.get(name.lstrip("%"), "load the extension that has it (%load_ext)")
        yield warning(
            f"{several(where)} calls {name}, which IPython does not have: the run stops there. "
            f"{remedy[0].upper()}{remedy[1:]}"
        )


def _of_colab(plan: Plan) -> Iterator[Finding]:
    """Calls that only Colab answers, unless a condition guards them."""
    if not any("colab" in source for _, source in plan.bundle.sources):
        return  # drive and files are something else
    for place, source in plan.bundle.code:
        if not _COLAB_CALLS.search(source):
            continue
        for owner in dict.fromkeys(_colab_calls(parsed(source))):
            yield warning(f"{place} calls google.colab's {owner}, and on Kaggle {COLAB[owner]}")


def _colab_calls(tree: ast.AST) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If | ast.Try | ast.FunctionDef):
            continue
        match node:
            case ast.Call(ast.Attribute(ast.Name("drive"), "mount" | "flush_and_unmount")):
                yield "drive"
            case ast.Call(ast.Attribute(ast.Name("files"), "upload" | "download")):
                yield "files"
            case ast.Call(ast.Attribute(ast.Name("auth"), "authenticate_user")):
                yield "auth"
        waiting += ast.iter_child_nodes(node)


def not_python(sources: Iterable[tuple[str, str]], *, cells: bool = False) -> Iterator[Finding]:
    """A finding for each of these (name, source) pairs that is not Python, with its line.

    A notebook's `cells` may also call magics and run shell lines. It is a warning where Kaggle's
    newer Python may know the syntax.
    """
    for place, source in sources:
        message, newer = document.syntax_error(place, source, cell=cells)
        if message:
            yield (warning if newer else error)(message)


def _brings_modules(plan: Plan) -> bool:
    """Whether code brings modules that are not here: it installs, copies or unpacks something, or
    adds a folder of the session to `sys.path`."""
    code_file = plan.metadata.code_file.resolve()
    file = code_file if plan.metadata.is_script else None
    top = repository(plan.project.root)
    for _, text in plan.bundle.sources:
        if _brings(text):
            return True
        if any(word in text for word in search_path.NAMING):
            added = search_path.additions(parsed(text), code_file.parent, file, top)
            if added.elsewhere:
                return True
    return False


@functools.lru_cache(maxsize=KEPT)
def _brings(text: str) -> bool:
    return "PYTHONPATH" in text or bool(BRINGS.search(text))


def modules(plan: Plan) -> Iterator[Finding]:
    """Missing modules; those from wheels are known only once the wheels are chosen."""
    if not plan.project.wheels:
        yield from lacking(plan)


def lacking(plan: Plan, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide."""
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    there.update(path.partition("/")[0].removesuffix(".py") for path in _written(plan))
    there.update(sys.stdlib_module_names, plan.bundle.stays)
    if plan.metadata.sources("competition"):  # its files may provide this module
        there.add("kaggle_evaluation")
    attached = plan.metadata.online or any(map(plan.metadata.sources, SOURCES))
    brings = _brings_modules(plan)
    seen = held(plan.project.runs, plan.kind)
    for module, place in plan.bundle.imports.items():
        has = True if module in there else _has(module, plan.kind, seen)
        own = None if has else _own_place(module, plan)
        if own:
            if not (brings and attached) and module not in plan.bundle.from_sources:
                where = plan.project.name(own)
                yield error(OWN_MODULE.format(place=place, module=module, where=where))
        elif has is False and not brings:
            lacks = f"the image of {plan.kind.upper()} sessions does not have {module} ({place})"
            distribution = image.distribution(module) or "PACKAGE"
            if distribution in image.NO_WHEEL:
                yield warning(f"{lacks}, and {image.NO_WHEEL[distribution]}")
                continue
            yield warning(
                f'{lacks}: add "{distribution}==VERSION" to wheels in [tool.kernelkit], which is '
                "attached and installed"
            )
        elif has is None and not brings and not _may_bring(module, plan):
            yield warning(
                f"it is not known whether {plan.kind.upper()} sessions have {module} ({place}): "
                "to be sure, look with `kernelkit doctor`, which reports what a session has"
            )


def _has(module: str, kind: Kind, seen: Collection[str] | None) -> bool | None:
    """Whether a session has a module; None if that is not known. What a session reported counts
    more than the lists."""
    if seen is not None and module not in image.KAGGLES_OWN:
        return module in seen
    return image.holds(module, kind)


def _may_bring(module: str, plan: Plan) -> bool:
    """Whether an attached source may have a module that is on no list: a competition's own, or one
    of Kaggle's package manager."""
    kernels = plan.metadata.sources("kernel")
    managed = any(source.startswith(PACKAGE_MANAGER) for source in kernels)
    competition = plan.metadata.sources("competition") and not image.distribution(module)
    return managed or bool(competition)


def _own_place(module: str, plan: Plan) -> Path | None:
    """Where the repository has the module, though it is not bundled."""
    root = plan.project.root
    here = plan.metadata.code_file.parent
    top = repository(root.resolve())
    for folder in dict.fromkeys((root / "src", root, here, top / "src", top)):
        for name in (f"{module}/__init__.py", f"{module}.py"):
            if (folder / name).is_file():
                return folder / name
        if any((folder / module).glob("*.py")):
            return folder / module
    return None


def account_secrets(plan: Plan) -> Iterator[Finding]:
    """Code that reads the account's Secrets, which a pushed run does not get."""
    texts = [each for each in plan.bundle.texts if "kaggle_secrets" in each[1]]
    places = [place for place, text in texts if READS_SECRETS.search(text)]
    if places:
        yield warning(
            f"{', '.join(places)} reads kaggle_secrets, but a push detaches the kernel's Secrets: "
            "the run will not find them. Let the code work without them, attach a private "
            "dataset with what it needs, or attach them again on the kernel's page (Add-ons, "
            "Secrets) and run it from there"
        )


def secrets(plan: Plan, own: Sequence[str] = ()) -> list[Finding]:
    """A finding for each line that contains a credential, or one of the client's `own`."""
    path = plan.metadata.path
    metadata = [(path.name, path.read_text("utf-8", "replace"))] if path.is_file() else []
    leaks = find_secrets([*plan.bundle.texts, *metadata], own)
    findings = []
    for leak in leaks:
        advice = "remove it before you push"
        if any(leak.startswith(name) for name in plan.bundle.places):
            advice += (
                ", or name the file in leave_out of [tool.kernelkit] if a run does not need it"
            )
        findings.append(error(f"{leak}: {advice}"))
    return findings


@dataclass(frozen=True)
class ReportedImage:
    """What a session reported of its image: Python's version if it did, and its modules."""

    python: tuple[int, int] | None
    modules: Sequence[str]


def held(runs: Path, kind: Kind) -> Collection[str] | None:
    """The modules of the image, as the latest session reported them; None if none did."""
    lists = (session.modules for session in reported(runs, kind))
    return next(filter(None, lists), None)


def reported(runs: Path, kind: Kind) -> Iterator[ReportedImage]:
    """What each session on such a machine reported in its manifest, latest first."""
    for push in reversed(Ledger(runs).of()):
        if push.accelerator == kind:
            folder = Path(push.folder or runs / f"{push.kernel.rpartition('/')[2]}-v{push.version}")
            manifest = kit_folder.read_json(folder, kit_folder.MANIFEST)
            version = re.match(r"(\d+)\.(\d+)", str(manifest.get("python")))
            python = (int(version[1]), int(version[2])) if version else None
            modules = manifest.get("modules")
            yield ReportedImage(python, modules if isinstance(modules, list) else [])


def in_lines(plan: Plan, text: str) -> str:
    """A finding's text with places such as "n.py[cell 2], line 3" as lines of the script.

    A script's code is divided where its block of parameters begins and ends; its author sees lines.
    """
    if not plan.metadata.is_script or "[cell " not in text:
        return text
    whole = plan.metadata.code_file.read_text("utf-8-sig", "replace")
    offsets = {}
    position = 0
    for place, source in plan.bundle.code:
        start = max(whole.find(source, position), 0)
        offsets[place] = whole[:start].count("\n")
        position = start + len(source)

    def line(match: re.Match[str]) -> str:
        file = match[1].partition("[cell ")[0]
        if match[1] not in offsets:
            return match[0]
        return f"{file}, line {offsets[match[1]] + int(match[2])}" if match[2] else file

    return re.sub(r"([^\s(]+\[cell \d+\])(?:(?:, line |:)(\d+))?", line, text)
