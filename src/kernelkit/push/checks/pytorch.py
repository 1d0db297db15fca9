"""What PyTorch on Kaggle's machines trips over, found before quota is used.

Each finding names the guide or the thread that it comes from. They are warnings: whether a line
runs is decided by the run.
"""

import ast
import re
from collections.abc import Iterator

from kernelkit.notebook.modules import parsed
from kernelkit.push.checks.findings import Finding, warning
from kernelkit.push.plan import Plan

_XLA = re.compile(r"\btorch_xla\b")
_DEVICE = {"xla_device", "device", "xla_device_hw", "get_xla_supported_devices", "world_size"}
_LAUNCHERS = {"launch", "spawn"}
_HARMLESS = {"is_available", "device_count", "manual_seed", "manual_seed_all"}  # before a fork
_GUIDE = "docs.pytorch.org/xla"


def pytorch(plan: Plan) -> Iterator[Finding]:
    """PyTorch code that fails on the requested machine."""
    text = "\n".join(source for _, source in plan.bundle.sources)
    if not re.search(r"\b(?:torch|torch_xla|accelerate)\b", text):
        return
    if _XLA.search(text):
        yield from _launched(plan)
        yield from _half_precision(plan)
    if plan.kind == "tpu" and _XLA.search(text) and "TPU_PROCESS_ADDRESSES" not in text:
        yield from _process_addresses(plan)
    yield from _notebook_launcher(plan)
    yield from _temporary_folder(plan)


def _calls(source: str) -> Iterator[tuple[ast.Call, str, str]]:
    """The calls of a source, outside functions first: each with its owner and its name."""
    for node in ast.walk(parsed(source)):
        match node:
            case ast.Call(ast.Attribute(owner, name)):
                yield node, ast.unparse(owner), name
            case ast.Call(ast.Name(name)):
                yield node, "", name


def _is_launch(owner: str, name: str) -> bool:
    owners = ("torch_xla", "xmp", "xla_multiprocessing")
    return name in _LAUNCHERS and owner.rpartition(".")[2] in owners


def _launched(plan: Plan) -> Iterator[Finding]:
    """A device that is touched before processes are launched, and a launch from a notebook."""
    touched = ""
    for place, source in plan.bundle.code:
        for node, owner, name in _at_top(source):
            if _is_launch(owner, name):
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
            elif name in _DEVICE and owner in ("torch_xla", "xm", "xr", "torch_xla.core.xla_model"):
                touched = touched or f"{place} ({owner}.{name}())"


def _at_top(source: str) -> Iterator[tuple[ast.Call, str, str]]:
    """The calls that run with the cell itself, in order, without those inside functions."""
    waiting: list[ast.AST] = [parsed(source)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        match node:
            case ast.Call(ast.Attribute(owner, name)):
                yield node, ast.unparse(owner), name
        waiting = [*ast.iter_child_nodes(node), *waiting]


def _by_fork(node: ast.Call) -> bool:
    methods = [keyword.value for keyword in node.keywords if keyword.arg == "start_method"]
    return any(isinstance(each, ast.Constant) and each.value == "fork" for each in methods)


def _half_precision(plan: Plan) -> Iterator[Finding]:
    """float16 and a gradient scaler, which are CUDA's."""
    if plan.kind != "tpu":
        return
    for place, source in plan.bundle.sources:
        names = {name for _, _, name in _calls(source)}
        if "GradScaler" in names:
            yield warning(
                f"{place} uses GradScaler, which is for float16 on CUDA: on a TPU use bfloat16 "
                f"without one (guide to automatic mixed precision, {_GUIDE})"
            )
        elif re.search(r"\btorch\.(?:float16|half)\b", source):
            yield warning(
                f"{place} uses torch.float16, which a TPU does not compute in: use torch.bfloat16 "
                f"(guide to automatic mixed precision, {_GUIDE})"
            )


def _process_addresses(plan: Plan) -> Iterator[Finding]:
    """A variable of the image that makes a launch wait for other hosts."""
    for place, source in plan.bundle.code:
        if any(_is_launch(owner, name) for _, owner, name in _calls(source)):
            yield warning(
                f"{place} launches processes on a TPU: Kaggle's image sets TPU_PROCESS_ADDRESSES "
                'to "local", with which a launch may fail. Before torch_xla is imported, write '
                'os.environ.pop("TPU_PROCESS_ADDRESSES", None) (pytorch/xla #8215)'
            )
            return


def _notebook_launcher(plan: Plan) -> Iterator[Finding]:
    """accelerate's launcher on two GPUs: CUDA must not be initialised before it."""
    if plan.kind != "gpu" or plan.metadata.is_script:
        return
    touched = ""
    for place, source in plan.bundle.code:
        for _, owner, name in _at_top(source):
            of_cuda = owner.startswith("torch.cuda") and name not in _HARMLESS
            if of_cuda or name == "cuda" or (name == "to" and "cuda" in source):
                touched = touched or place
        launches = any(name == "notebook_launcher" for _, _, name in _calls(source))
        if launches and touched:
            yield warning(
                f"{place} calls notebook_launcher after {touched} used CUDA: processes cannot be "
                "forked then. Move every use of CUDA into the launched function "
                "(huggingface/accelerate #940)"
            )
            return


def _temporary_folder(plan: Plan) -> Iterator[Finding]:
    """/kaggle/temp, which only interactive sessions of some images have."""
    for place, source in plan.bundle.sources:
        texts = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.Constant))
        names = [node.value for node in texts if isinstance(node.value, str)]
        used = any(name == "/kaggle/temp" or name.startswith("/kaggle/temp/") for name in names)
        if used and "makedirs" not in source and "mkdir" not in source:
            yield warning(
                f"{place} uses /kaggle/temp, which a session may not have: make it first "
                '(os.makedirs("/kaggle/temp", exist_ok=True)), or use /tmp'
            )
