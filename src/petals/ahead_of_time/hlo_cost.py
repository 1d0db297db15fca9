"""What a step costs, read from the optimised HLO: traffic of the HBM, and the compiler's cycles.

The `bytes accessed` of XLA's cost analysis count arrays in the chip's own memory (VMEM) and
prefetches into it like arrays in the HBM: five times the HBM's traffic for MobileNet at 192 px. So
the traffic is counted here, by the memory space that stands in each array's layout.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from petals.ahead_of_time.hlo import DEFINED, operands, width

_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%(?P<name>[\w.-]+) \(.*\{$")
_ARRAY = re.compile(r"\b([a-z]+\d*(?:e\d+m\d+\w*)?)\[([\d,]*)\](?:\{[^}]*?(?:S\((\d+)\))?\})?")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_CALLED = re.compile(r"(?:body|to_apply|branch_computations|called_computations)=\{?%([\w.-]+)")
# They name arrays and move nothing; what `-done` gives was counted when it began.
_NOTHING = (
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


@dataclass(frozen=True)
class Cost:
    """Of one device and call: bytes read from and written to the HBM, and estimated cycles.

    `cycles` is the sum of what the compiler's cost model gives each fusion. Copies that run
    beside them and exchanges between devices are not in it.
    """

    hbm_bytes: int
    cycles: int


def cost(text: str) -> Cost:
    """The cost of a compiled program, from the text of its optimised HLO.

    Each operation reads its operands once and writes its results once; a loop's body counts as
    often as the compiler knows it to run, once where it does not.
    """
    computations: dict[str, list[re.Match[str]]] = defaultdict(list)
    entry = name = ""
    for line in text.splitlines():
        if begun := _COMPUTATION.match(line):
            name = begun["name"]
            entry = name if begun["entry"] else entry
        elif defined := DEFINED.match(line):
            computations[name].append(defined)
    return _of_computation(entry, computations)


def _of_computation(name: str, computations: dict[str, list[re.Match[str]]]) -> Cost:
    types: dict[str, str] = {}
    moved = cycles = 0
    for defined in computations.get(name, ()):
        types[defined["name"]] = defined["type"]
        operation, line = defined["op"], defined.string
        if operation in _RUNS_OTHERS:
            trip_count = _TRIPS.search(line)
            trips = int(trip_count[1]) if trip_count else 1
            for called in _CALLED.findall(line):
                inner = _of_computation(called, computations)
                moved += inner.hbm_bytes * trips
                cycles += inner.cycles * trips
        elif operation not in _NOTHING and not operation.endswith("-done"):
            moved += _moved(defined, types)
            estimated = _CYCLES.search(line)
            cycles += int(estimated[1]) if estimated else 0
    return Cost(moved, cycles)


def _moved(defined: re.Match[str], types: dict[str, str]) -> int:
    operation, result = defined["op"], defined["type"]
    if operation.endswith("-start"):  # its type names operands and results both
        if operation != "slice-start":
            return _in_hbm(result)
        results = result.partition("), ")[2]  # it reads as much from the HBM as it gives
        return _in_hbm(results) + next((size for size, _ in _arrays(results)), 0)
    read = [_in_hbm(types.get(operand, "")) for operand in operands(defined)]
    if operation in ("slice", "dynamic-slice", "gather"):  # of the first it reads what it gives
        read[:1] = [min(read[0], _in_hbm(result))] if read else []
    return _in_hbm(result) + sum(read)


def _in_hbm(type_: str) -> int:
    return sum(size for size, in_hbm in _arrays(type_) if in_hbm)


def _arrays(type_: str) -> Iterator[tuple[int, bool]]:
    """(bytes, whether it lies in the HBM: memory space 0, which is not written) of each array."""
    for dtype, shape, space in _ARRAY.findall(type_):
        size = math.prod(int(dimension) for dimension in shape.split(",") if dimension)
        yield math.ceil(width(dtype) * size), space in ("", "0")
