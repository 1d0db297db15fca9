"""What PyTorch on Kaggle's machines trips over, found before quota is used.

Each finding names the guide or the thread that it comes from. They are warnings: whether a line
runs is decided by the run.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from kernelkit.notebook import magics, syntax
from kernelkit.notebook.modules import parsed
from kernelkit.push.checks.findings import Finding, warning
from kernelkit.push.checks.places import several
from kernelkit.push.plan import Plan

_DEVICE = {"xla_device", "device", "xla_device_hw", "get_xla_supported_devices", "world_size"}
_LAUNCHERS = {"launch", "spawn"}
# What these names usually stand for, where no import says so.
_USUAL = {"xm": "torch_xla.core.xla_model", "xr": "torch_xla.runtime"}
_USUAL |= {"xmp": "torch_xla.distributed.xla_multiprocessing"}
_HARMLESS = {"is_available", "device_count", "manual_seed", "manual_seed_all"}  # before a fork
_GUIDE = "docs.pytorch.org/xla"
_TEMPORARY = "/kaggle/temp"
_HALF = re.compile(r"\.half$")
_MAKES = re.compile(r"\bmakedirs\(|\.mkdir\(")


def pytorch(plan: Plan) -> Iterator[Finding]:
    """PyTorch code that fails on the requested machine."""
    text = "\n".join(source for _, source in plan.bundle.sources)
    # Looking for a part of a word takes far less time than looking for words.
    if "torch" not in text and "accelerate" not in text:
        return
    if not re.search(r"\b(?:torch|torch_xla|accelerate)\b", text):
        return
    names = _imported(plan)
    uses_xla = "torch_xla" in text
    if uses_xla:
        yield from _launched(plan, names)
        yield from _half_precision(plan)
    if plan.kind == "tpu" and uses_xla and "TPU_PROCESS_ADDRESSES" not in text:
        yield from _process_addresses(plan, names)
    if "notebook_launcher" in text:
        yield from _notebook_launcher(plan, names)
    yield from _temporary_folder(plan)


def _imported(plan: Plan) -> dict[str, str]:
    """What each imported name stands for: {"xm": "torch_xla.core.xla_model"}."""
    names = dict(_USUAL)
    for _, source in plan.bundle.code:
        for node in syntax.nodes(parsed(source), ast.Import, ast.ImportFrom):
            match node:
                case ast.Import(aliases):
                    names |= {each.asname: each.name for each in aliases if each.asname}
                case ast.ImportFrom(str(module), aliases):
                    names |= {each.asname or each.name: f"{module}.{each.name}" for each in aliases}
    return names


def _dotted(function: ast.expr, names: Mapping[str, str]) -> str:
    """The dotted name of a called function, whatever it was imported as."""
    first, dot, rest = ast.unparse(function).partition(".")
    return f"{names.get(first, first)}{dot}{rest}"


def _calls(source: str, names: Mapping[str, str]) -> Iterator[tuple[ast.Call, str]]:
    """The calls of a source, also in functions, each with its dotted name."""
    for node in syntax.nodes(parsed(source), ast.Call):
        yield node, _dotted(node.func, names)


def _at_top(source: str, names: Mapping[str, str]) -> Iterator[tuple[ast.Call, str]]:
    """The calls that run with the cell itself, in order, without those inside functions."""
    waiting: list[ast.AST] = [parsed(source)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            yield node, _dotted(node.func, names)
        waiting = [*ast.iter_child_nodes(node), *waiting]


def _of_xla(dotted: str, functions: Collection[str]) -> bool:
    owner, _, name = dotted.rpartition(".")
    return name in functions and owner.partition(".")[0] == "torch_xla"


def _launched(plan: Plan, names: Mapping[str, str]) -> Iterator[Finding]:
    """A device that is touched before processes are launched, and a launch from a notebook."""
    touched = ""
    for place, source in plan.bundle.code:
        for node, dotted in _at_top(source, names):
            if _of_xla(dotted, _LAUNCHERS):
                if touched:
                    yield warning(
                        f"{place} launches processes after {touched} asked for the device: the "
                        "launch then fails. Ask for it only inside the launched function "
                        "(pytorch/xla #7765)"
                    )
                if not plan.metadata.is_script and not _by_fork(node):
                    yield warning(
                        f"{place} launches processes from a notebook, where only those started by "
                        'fork find a function of a cell: write start_method="fork" '
                        "(pytorch/xla #7761)"
                    )
            elif _of_xla(dotted, _DEVICE):
                touched = touched or f"{place} ({ast.unparse(node.func)}())"


def _by_fork(node: ast.Call) -> bool:
    methods = [keyword.value for keyword in node.keywords if keyword.arg == "start_method"]
    return any(isinstance(each, ast.Constant) and each.value == "fork" for each in methods)


def _half_precision(plan: Plan) -> Iterator[Finding]:
    """float16 and a gradient scaler, which are CUDA's."""
    if plan.kind != "tpu":
        return
    scaled, halved = [], []
    for place, source in plan.bundle.sources:
        tree = parsed(source)
        attributes = {ast.unparse(each) for each in syntax.nodes(tree, ast.Attribute)}
        called = {ast.unparse(each.func) for each in syntax.nodes(tree, ast.Call)}
        if any(name.rpartition(".")[2] == "GradScaler" for name in called):
            scaled.append(place)
        elif attributes & {"torch.float16", "torch.half"} or any(map(_HALF.search, called)):
            halved.append(place)
    if scaled:
        yield warning(
            f"{several(scaled)} uses GradScaler, which is for float16 on CUDA: on a TPU use "
            f"bfloat16 without one (guide to automatic mixed precision, {_GUIDE})"
        )
    if halved:
        yield warning(
            f"{several(halved)} uses float16, which a TPU does not compute in: use torch.bfloat16 "
            f"(guide to automatic mixed precision, {_GUIDE})"
        )


def _process_addresses(plan: Plan, names: Mapping[str, str]) -> Iterator[Finding]:
    """A variable of the image that makes a launch wait for other hosts."""
    for place, source in plan.bundle.code:
        if any(_of_xla(dotted, _LAUNCHERS) for _, dotted in _calls(source, names)):
            yield warning(
                f"{place} launches processes on a TPU: Kaggle's image sets TPU_PROCESS_ADDRESSES "
                'to "local", with which a launch may fail. Before torch_xla is imported, write '
                'os.environ.pop("TPU_PROCESS_ADDRESSES", None) (pytorch/xla #8215)'
            )
            return


def _notebook_launcher(plan: Plan, names: Mapping[str, str]) -> Iterator[Finding]:
    """accelerate's launcher on two GPUs: CUDA must not be initialised before it."""
    if plan.kind != "gpu" or plan.metadata.is_script:
        return
    touched = ""
    for place, source in plan.bundle.code:
        for _, dotted in _at_top(source, names):
            owner, _, name = dotted.rpartition(".")
            of_cuda = owner.startswith("torch.cuda") and name not in _HARMLESS
            if of_cuda or name == "cuda" or (name == "to" and "cuda" in source):
                touched = touched or place
        called = {dotted.rpartition(".")[2] for _, dotted in _calls(source, names)}
        if "notebook_launcher" in called and touched:
            yield warning(
                f"{place} calls notebook_launcher after {touched} used CUDA: processes cannot be "
                "forked then. Move every use of CUDA into the launched function "
                "(huggingface/accelerate #940)"
            )
            return


def _temporary_folder(plan: Plan) -> Iterator[Finding]:
    """/kaggle/temp, which only interactive sessions of some images have."""
    using = [place for place, source in plan.bundle.sources if _names_temporary(source)]
    if using and not any(_makes_temporary(source) for _, source in plan.bundle.sources):
        yield warning(
            f"{several(using)} uses {_TEMPORARY}, which a session may not have: make it first "
            f'(os.makedirs("{_TEMPORARY}", exist_ok=True)), or use /tmp'
        )


def _names_temporary(source: str) -> bool:
    if _TEMPORARY not in source:
        return False
    texts = (node.value for node in syntax.nodes(parsed(source), ast.Constant))
    names = [text for text in texts if isinstance(text, str)]
    return any(name == _TEMPORARY or name.startswith(f"{_TEMPORARY}/") for name in names)


def _makes_temporary(source: str) -> bool:
    """Whether a source makes folders, and names the temporary one in the same place."""
    if any("mkdir" in words and _TEMPORARY in " ".join(words) for words in magics.commands(source)):
        return True
    return _names_temporary(source) and bool(_MAKES.search(source))
