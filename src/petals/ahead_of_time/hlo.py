"""What a compiled program does, read from its text: the optimised HLO that XLA prints."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "ragged-all-to-all",
)
GRADIENTS, STATISTICS, OF_BATCH = "gradients", "statistics of the batch", "the batch"
_BYTES = {"pred": 1, "s4": 0.5, "u4": 0.5, "c64": 8, "c128": 16}

DEFINED = re.compile(r"^\s*(?:ROOT )?%(?P<name>[\w.-]+) = (?P<type>\(.*?\)|\S+) (?P<op>[\w-]+)\(")
_ARRAY = re.compile(r"\b([a-z]+\d*(?:e\d+m\d+\w*)?)\[([\d,]*)\]")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_INDEX = re.compile(r"get-tuple-element\(%([\w.-]+)\), index=(\d+)")
_OPERANDS = re.compile(r"(%[^)]*)\)")


@dataclass(frozen=True)
class Collective:
    """Arrays that the devices exchange for one purpose: how many, their numbers and bytes."""

    kind: str
    cause: str
    arrays: int
    elements: int
    bytes: int


@dataclass(frozen=True)
class _Array:
    """An array that a collective gives: its dtype, shape and the operation that asked for it."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    op_name: str

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return math.ceil(self.elements * width(self.dtype))


def width(dtype: str) -> float:
    """The bytes of one number of an HLO dtype, such as "bf16" or "pred"."""
    if dtype in _BYTES:
        return _BYTES[dtype]
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return int(digits[1]) / 8 if digits else 0


def collectives(text: str, trainable: Sequence[int], batch: int) -> list[Collective]:
    """What the devices exchange in one call of a program, the most bytes first.

    `trainable`: the sizes of the variables that are trained, in numbers each; `batch`: the images
    over all devices. Every gradient is found among the sums of the backward pass by its size; what
    is left there, and in the forward pass, are BatchNorm's statistics of the whole batch.
    """
    gradients = Counter(trainable)
    groups: dict[tuple[str, str], list[_Array]] = defaultdict(list)
    for array in _exchanged(text):
        groups[array.kind, _cause(array, gradients, batch)].append(array)
    exchanges = [
        Collective(
            kind,
            cause,
            len(arrays),
            sum(array.elements for array in arrays),
            sum(array.bytes for array in arrays),
        )
        for (kind, cause), arrays in groups.items()
    ]
    return sorted(exchanges, key=lambda exchange: (-exchange.bytes, exchange.kind, exchange.cause))


def _cause(array: _Array, gradients: Counter[int], batch: int) -> str:
    name = array.op_name
    if array.kind in ("all-reduce", "reduce-scatter"):
        if "transpose(" in name:
            if gradients[array.elements]:
                gradients[array.elements] -= 1
                return GRADIENTS
            return STATISTICS
        if not array.shape or array.elements == 1:
            return "loss and metrics"
        return STATISTICS if "jvp(" in name else place(name)
    if array.shape and array.shape[0] == batch and array.kind == "all-gather":
        return f"{OF_BATCH}, in {place(name)}"
    return place(name)


def place(op_name: str) -> str:
    """A layer and operation out of an `op_name`, without what JAX wraps around them."""
    inner = [re.sub(r"^(?:\w+\()+|\)+$", "", part) for part in op_name.split("/")[1:]]
    return "/".join(inner[-2:]) or "an operation without a name"


def float32_convolutions(text: str) -> list[str]:
    """The layers whose convolutions take float32, each once. (A dense layer's product is none.)"""
    layers = []
    for types, line, match in _definitions(text):
        name = _OP_NAME.search(line)
        if match["op"] != "convolution" or not name or "conv_general_dilated" not in name[1]:
            continue
        if any(types.get(operand, "").startswith("f32[") for operand in operands(match)):
            layers.append(place(name[1].partition("/conv_general_dilated")[0]))
    return list(dict.fromkeys(layers))


def operands(defined: re.Match[str]) -> list[str]:
    """The names that an instruction, a match of `DEFINED`, takes; a constant takes none."""
    match = _OPERANDS.match(defined.string, defined.end())
    return re.findall(r"%([\w.-]+)", match[1]) if match else []


def _definitions(text: str) -> Iterator[tuple[dict[str, str], str, re.Match[str]]]:
    """(types by name so far in the same computation, line, its match) of each instruction."""
    types: dict[str, str] = {}
    for line in text.splitlines():
        match = DEFINED.match(line)
        if match:
            types[match["name"]] = match["type"]
            yield types, line, match
        elif line.endswith("{"):
            types = {}


def _exchanged(text: str) -> Iterator[_Array]:
    op_names = _op_names(text.splitlines())
    for _, line, match in _definitions(text):
        kind = match["op"].removesuffix("-start")
        if kind not in COLLECTIVES:
            continue
        arrays = _ARRAY.findall(match["type"])
        if match["op"] == "all-gather-start" or match["op"] == "collective-permute-start":
            arrays = arrays[len(arrays) // 2 :]  # the operands stand before the results
        own_name = _OP_NAME.search(line)
        for index, (dtype, dimensions) in enumerate(arrays):
            name = op_names.get((match["name"], index)) or (own_name[1] if own_name else "")
            shape = tuple(int(number) for number in dimensions.split(",") if number)
            yield _Array(kind, dtype, shape, name)


def _op_names(lines: Iterable[str]) -> dict[tuple[str, int], str]:
    """{(instruction, index in its tuple): the op_name}: XLA joins collectives of many layers."""
    op_names: dict[tuple[str, int], str] = {}
    for line in lines:
        if (element := _INDEX.search(line)) and (name := _OP_NAME.search(line)):
            op_names[element[1], int(element[2])] = name[1]
    return op_names
