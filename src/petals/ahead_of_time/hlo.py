"""What a compiled program does and costs, read from its text: the optimised HLO that XLA prints.

The `bytes accessed` of XLA's cost analysis count arrays in the chip's own memory (VMEM) and
prefetches into it like arrays in the HBM: five times the HBM's traffic for MobileNet at 192 px. So
the traffic is counted here, by the memory space that stands in each array's layout.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "ragged-all-to-all",
)
GRADIENTS, SUMS = "gradients", "loss, metrics and statistics of the batch"
# They name arrays and move nothing; what `-done` gives was counted when it began.
_MOVES_NOTHING = (
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "opt-barrier",
    "partition-id",
    "replica-id",
    "iota",
)
_RUNS_OTHERS = ("while", "call", "conditional")
_BYTES = {"pred": 1, "s4": 0.5, "u4": 0.5, "c64": 8, "c128": 16}

_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%(?P<name>[\w.-]+) \(.*\{$")
_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%(?P<name>[\w.-]+) = (?P<type>\(.*?\)|\S+) (?P<op>[\w-]+)\((?P<rest>.*)"
)
_ARRAY = re.compile(r"\b([a-z]+\d*(?:e\d+m\d+\w*)?)\[([\d,]*)\](?:\{[^}]*?(?:S\((\d+)\))?\})?")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_ELEMENT = re.compile(r"^%([\w.-]+)\), index=(\d+)")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_CALLED = re.compile(r"(?:body|to_apply|branch_computations|called_computations)=\{?%([\w.-]+)")


class Instruction(NamedTuple):
    """An operation of a program: its name, the type of its result, its kind, the rest of its line.

    The rest begins with its operands.
    """

    name: str
    type: str
    op: str
    rest: str

    @property
    def operands(self) -> list[str]:
        """The names of its operands; a constant takes none."""
        return re.findall(r"%([\w.-]+)", self.rest.partition(")")[0])

    @property
    def op_name(self) -> str:
        """The operation of the model that asked for it, as JAX names it; "" if unknown."""
        match = _OP_NAME.search(self.rest)
        return match[1] if match else ""


class Cost(NamedTuple):
    """Of one device and call: bytes read from and written to the HBM, and estimated cycles.

    `cycles` is the sum of what the compiler's cost model gives each fusion. Copies that run
    beside them and exchanges between devices are not in it.
    """

    hbm_bytes: int
    cycles: int


class CompiledText:
    """The computations of a compiled program, from the text of its optimised HLO."""

    def __init__(self, text: str) -> None:
        self._computations: dict[str, list[Instruction]] = defaultdict(list)
        name = self._entry = ""
        for line in text.splitlines():
            if header := _COMPUTATION.match(line):
                name = header["name"]
                self._entry = name if header["entry"] else self._entry
            elif instruction := _INSTRUCTION.match(line):
                self._computations[name].append(Instruction(**instruction.groupdict()))

    def collectives(self) -> list[dict[str, Any]]:
        """What the devices exchange in one call: kind, cause and bytes, the most bytes first."""
        # XLA joins collectives of many layers: the elements of the result have their own names.
        instructions = [each for group in self._computations.values() for each in group]
        names = {}
        for instruction in instructions:
            element = _ELEMENT.match(instruction.rest)
            if element:
                names[element[1], int(element[2])] = instruction.op_name
        exchanged: dict[tuple[str, str], int] = defaultdict(int)
        for instruction in instructions:
            kind = instruction.op.removesuffix("-start")
            if kind not in COLLECTIVES:
                continue
            arrays = list(_arrays(instruction.type))
            if instruction.op in ("all-gather-start", "collective-permute-start"):
                arrays = arrays[len(arrays) // 2 :]  # the operands stand before the results
            for index, (size, _) in enumerate(arrays):
                name = names.get((instruction.name, index)) or instruction.op_name
                cause = _place(name)
                if kind in ("all-reduce", "reduce-scatter"):
                    cause = GRADIENTS if "transpose(" in name else SUMS
                exchanged[kind, cause] += size
        most_first = sorted(exchanged.items(), key=lambda item: (-item[1], item[0]))
        return [{"kind": kind, "cause": cause, "bytes": n} for (kind, cause), n in most_first]

    def float32_convolutions(self) -> list[str]:
        """The layers whose convolutions take float32, each once; dense layers have none."""
        layers = {}
        for group in self._computations.values():
            types = {instruction.name: instruction.type for instruction in group}
            for instruction in group:
                layer, convolution, _ = instruction.op_name.partition("/conv_general_dilated")
                float32 = any(
                    types.get(operand, "").startswith("f32[") for operand in instruction.operands
                )
                if instruction.op == "convolution" and convolution and float32:
                    layers[_place(layer)] = True
        return list(layers)

    def cost(self) -> Cost:
        """What one call costs.

        Each operation reads its operands once and writes its results once; a loop's body counts as
        often as the compiler knows it to run, once where it does not.
        """
        return self._cost(self._entry)

    def _cost(self, name: str) -> Cost:
        types: dict[str, str] = {}
        moved = cycles = 0
        for instruction in self._computations.get(name, ()):
            types[instruction.name] = instruction.type
            if instruction.op in _RUNS_OTHERS:
                count = _TRIPS.search(instruction.rest)
                trips = int(count[1]) if count else 1
                for called in _CALLED.findall(instruction.rest):
                    inner = self._cost(called)
                    moved += inner.hbm_bytes * trips
                    cycles += inner.cycles * trips
            elif instruction.op not in _MOVES_NOTHING and not instruction.op.endswith("-done"):
                moved += _moved(instruction, types)
                estimated = _CYCLES.search(instruction.rest)
                cycles += int(estimated[1]) if estimated else 0
        return Cost(moved, cycles)


def _place(op_name: str) -> str:
    """A layer and operation out of an `op_name`, without what JAX wraps around them."""
    inner = [re.sub(r"^(?:\w+\()+|\)+$", "", part) for part in op_name.split("/")[1:]]
    return "/".join(inner[-2:]) or "an operation without a name"


def _moved(instruction: Instruction, types: Mapping[str, str]) -> int:
    result = instruction.type
    if instruction.op == "slice-start":  # it reads as much from the HBM as it gives
        results = result.partition("), ")[2]
        return _in_hbm(results) + next((size for size, _ in _arrays(results)), 0)
    if instruction.op.endswith("-start"):  # its type names operands and results both
        return _in_hbm(result)
    read = [_in_hbm(types.get(operand, "")) for operand in instruction.operands]
    if instruction.op in ("slice", "dynamic-slice", "gather") and read:
        read[0] = min(read[0], _in_hbm(result))  # of the first it reads what it gives
    return _in_hbm(result) + sum(read)


def _in_hbm(type_: str) -> int:
    return sum(size for size, in_hbm in _arrays(type_) if in_hbm)


def _arrays(type_: str) -> Iterator[tuple[int, bool]]:
    """(bytes, whether it lies in the HBM: memory space 0, which is not written) of each array."""
    for dtype, shape, space in _ARRAY.findall(type_):
        elements = math.prod(int(dimension) for dimension in shape.split(",") if dimension)
        yield math.ceil(width(dtype) * elements), space in ("", "0")


def width(dtype: str) -> float:
    """The bytes of one number of an HLO dtype, such as "bf16" or "pred"."""
    if dtype in _BYTES:
        return _BYTES[dtype]
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return int(digits[1]) / 8 if digits else 0
