"""What the compiler said of a program, and what follows from it: memory, bounds, findings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.scores.metrics import Metrics
from kernelkit.shown import duration
from kernelkit.terminal.events import WARNING, Event
from kernelkit.tpu.chips import TpuMachine

TPU = Event("tpu")  # what the TPU's compiler said
GIB = 2**30
LARGE = 1_000_000  # bytes; smaller exchanges between devices cost nothing to speak of
PARTS = {
    "parameters": "parameters_bytes",
    "optimizer": "optimizer_bytes",
    "activations and buffers": "working_bytes",
    "program": "code_bytes",
}


@dataclass(frozen=True)
class CompiledProgram:
    """One program's figures, as the project's command gave them, on one machine.

    `facts` are of one device, sizes in bytes: program, images (over all devices), fits, message,
    seconds, and where it fits peak_bytes, working_bytes, code_bytes, flops, bytes (read from and
    written to the chip's memory), collectives, float32_convolutions, and cycles where the compiler
    estimates them.
    """

    facts: Mapping[str, Any]
    machine: TpuMachine

    @property
    def name(self) -> str:
        """What the program is for."""
        return str(self.facts["program"])

    @property
    def fits(self) -> bool:
        """Whether it was compiled."""
        return bool(self.facts["fits"])

    @property
    def by_flops(self) -> float:
        """The least seconds that a step can take, by its FLOPs."""
        return float(self.facts["flops"] / self.machine.flops)

    @property
    def by_memory(self) -> float:
        """The least seconds that a step can take, by the bytes it moves."""
        return float(self.facts["bytes"] / self.machine.bandwidth)

    @property
    def bound(self) -> float:
        """The larger of the two, in seconds, below which no step can be."""
        return max(self.by_flops, self.by_memory)

    @property
    def binds(self) -> str:
        """Which of the two that is."""
        return "memory" if self.by_memory >= self.by_flops else "FLOPs"

    @property
    def estimate(self) -> float:
        """The compiler's own estimate of a step's seconds; 0 where there is none.

        Copies that run beside the operations and exchanges between chips are not in it.
        """
        clock = self.machine.clock
        return float(self.facts.get("cycles", 0)) / clock if clock else 0.0

    def rate(self, seconds: float) -> float:
        """Images a second in steps of so many seconds; 0 where these are not known."""
        return self.facts["images"] / seconds if seconds else 0.0

    @property
    def verdict(self) -> str:
        """Whether it fits, a line for people."""
        facts = self.facts
        if self.fits:
            peak = _size(facts["peak_bytes"])
            room = self.machine.hbm / GIB
            return (
                f"{self.name}, {facts['images']:,} images: fits, {peak} of {room:.0f} GiB a chip "
                "at peak"
            )
        if "needed_bytes" in facts:
            needed, available = facts["needed_bytes"] / GIB, facts["available_bytes"] / GIB
            why = f"does not fit: it needs {needed:.2f} GiB a chip and has {available:.2f} GiB"
        elif facts.get("reason") == "memory":
            why = "does not fit the memory of a chip"
        else:
            why = "refused by the compiler"
        return f"{self.name}: {why}"

    def lines(self) -> Iterator[str]:
        """The figures for people, the first line whether it fits."""
        facts, estimate = self.facts, self.estimate
        if not self.fits:
            yield f"{self.verdict}. The compiler says:\n{facts['message']}"
            return
        yield self.verdict
        bound = self.bound
        sizes = {name: facts.get(key, 0) for name, key in PARTS.items()}
        yield "  " + ", ".join(f"{name} {_size(size)}" for name, size in sizes.items() if size)
        yield (
            f"  {facts['flops'] / 1e9:,.1f} GFLOP and {facts['bytes'] / 1e9:,.2f} GB a chip and "
            f"step: at best {_time(bound)} ({_time(self.by_flops)} by FLOPs, "
            f"{_time(self.by_memory)} by memory), {self.rate(bound):,.0f} images/s"
        )
        if estimate:
            yield (
                f"  by the compiler's own estimate {_time(estimate)} a step, "
                f"{self.rate(estimate):,.0f} images/s, without input and exchange"
            )
        steps = facts.get("steps")
        if steps:
            epoch = f"  an epoch of {steps:,} steps: at best {_time(steps * bound)}"
            yield f"{epoch}, as estimated {_time(steps * estimate)}" if estimate else epoch
        exchanges = facts.get("collectives")
        if exchanges:
            texts = (f"{e['kind']} of {e['cause']} {_size(e['bytes'])}" for e in exchanges)
            yield "  " + ", ".join(texts)
        yield f"compiled in {duration(facts['seconds'])}"

    def warnings(self) -> Iterator[str]:
        """What is worth a second look, a sentence each."""
        for exchange in self.facts.get("collectives", ()):
            if exchange["kind"] != "all-reduce" and exchange["bytes"] >= LARGE:
                yield (
                    f"{self.name}: the chips exchange {_size(exchange['bytes'])} in an "
                    f"{exchange['kind']} of {exchange['cause']}, which data parallelism does not "
                    "need"
                )
        layers = self.facts.get("float32_convolutions")
        if layers:
            yield f"{self.name}: {len(layers)} convolutions in float32, such as {layers[0]}"


def beside(estimate: Mapping[str, Any], metrics: Metrics) -> Iterator[tuple[Event, str]]:
    """(event, text) for what a run's `metrics` say beside the compiler's estimate of its step.

    `estimate`: the `seconds` and `peak_bytes` of a step and the compiler's `versions`. Nothing for
    a run that recorded no `step_seconds`, or for which CPU devices stood in.
    """
    device, measured = metrics.device, metrics.step_seconds
    if not estimate or not measured or device.rehearsal:
        return
    here = estimate.get("versions")
    text = (
        f"{_time(measured)} per step with its input, {_time(estimate['seconds'])} by the estimate "
        f"of {compiler(here)}: {measured / estimate['seconds']:.1f} times"
    )
    if device.peak_bytes:
        text += f"; {_size(device.peak_bytes)} a chip at peak, compiled for "
        text += _size(estimate["peak_bytes"])
    if device.compile_seconds:
        text += f"; traced in {duration(device.trace_seconds)}, compiled in "
        text += duration(device.compile_seconds)
    yield TPU, text
    session = compiler(metrics.versions)
    if session not in (compiler({}), compiler(here)):
        yield (
            WARNING,
            f"the session compiled with {session}, and the estimate is by {compiler(here)}: "
            f"kernelkit check --tpu NOTEBOOK --libtpu {session.split()[-1]} estimates with that",
        )


def compiler(versions: object) -> str:
    """The name of the compiler among a program's `versions`, such as "libtpu 0.0.17"."""
    version = versions.get("libtpu") if isinstance(versions, Mapping) else ""
    return f"libtpu {version}" if version else "the TPU's compiler"


def _size(size: float) -> str:
    if size >= GIB / 10:
        return f"{size / GIB:.2f} GiB"
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.3g} kB"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:,.1f} s"
