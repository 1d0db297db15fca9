"""What the compiler said of a program, and what follows from it: memory, bounds, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.shown import duration
from kernelkit.tpu.chips import TpuMachine

GIB = 2**30
LARGE = 1_000_000  # bytes; smaller exchanges between devices cost nothing to speak of


@dataclass(frozen=True)
class Bound:
    """The least seconds that a step can take: by its FLOPs, and by the bytes it moves."""

    by_flops: float
    by_memory: float
    images: int

    @property
    def seconds(self) -> float:
        """The larger of the two, below which no step can be."""
        return max(self.by_flops, self.by_memory)

    @property
    def binds(self) -> str:
        """Which of the two that is."""
        return "memory" if self.by_memory >= self.by_flops else "FLOPs"

    @property
    def images_per_second(self) -> float:
        """How many images at best."""
        return self.images / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class CompiledProgram:
    """One program's figures, as the project's command gave them, on one machine.

    `facts` are of one device, sizes in bytes: program, images (over all devices), fits, message,
    seconds, and where it fits peak_bytes, argument_bytes, working_bytes, code_bytes, flops,
    bytes (read from and written to the chip's memory), collectives, float32_convolutions, and
    cycles where the compiler estimates them.
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
    def memory(self) -> tuple[int, int]:
        """(bytes of a chip at peak, bytes of these that a batch of any size takes)."""
        sizes = (self.facts.get(f"{kind}_bytes", 0) for kind in ("parameters", "optimizer"))
        return int(self.facts["peak_bytes"]), sum(sizes)

    @property
    def bound(self) -> Bound:
        """What the machine's peaks allow."""
        return Bound(
            self.facts["flops"] / self.machine.flops,
            self.facts["bytes"] / self.machine.bandwidth,
            int(self.facts["images"]),
        )

    @property
    def estimate(self) -> float:
        """The compiler's own estimate of a step's seconds; 0 where there is none.

        Copies that run beside the operations and exchanges between chips are not in it.
        """
        cycles = float(self.facts.get("cycles", 0))
        return cycles / self.machine.clock if self.machine.clock else 0.0

    @property
    def estimated_rate(self) -> float:
        """Images a second by that estimate; 0 where there is none, as of what does not fit."""
        return int(self.facts["images"]) / self.estimate if self.estimate else 0.0

    @property
    def verdict(self) -> str:
        """Whether it fits, a line for people."""
        if not self.fits:
            return f"{self.name}: {self._refusal()}"
        return (
            f"{self.name}, {self.facts['images']:,} images: fits, "
            f"{_size(self.facts['peak_bytes'])} of {self.machine.hbm / GIB:.0f} GiB a chip at peak"
        )

    def lines(self) -> Iterator[str]:
        """The figures for people, the first line whether it fits."""
        facts = self.facts
        if not self.fits:
            yield f"{self.verdict}. The compiler says:"
            yield from str(facts["message"]).splitlines()
            return
        yield self.verdict
        yield self._memory()
        yield from self._speed()
        yield from self._exchanged()
        took = f"compiled in {duration(facts['seconds'])}"
        if "cpu_seconds" in facts:
            took += f" here, {duration(facts['cpu_seconds'])} of one core"
        yield took

    def warnings(self) -> Iterator[str]:
        """What is worth a second look, a sentence each."""
        for exchange in self.facts.get("collectives", ()):
            if exchange["kind"] != "all-reduce" and exchange["bytes"] >= LARGE:
                size = _size(exchange["bytes"])
                yield (
                    f"{self.name}: the chips exchange {size} in an {exchange['kind']} of "
                    f"{exchange['cause']}, which data parallelism does not need"
                )
        layers = list(self.facts.get("float32_convolutions", ()))
        if layers:
            more = f" and {len(layers) - 3} more" if layers[3:] else ""
            yield (
                f"{self.name}: {len(layers)} convolution{'s' if layers[1:] else ''} in float32 "
                f"({', '.join(layers[:3])}{more})"
            )

    def _refusal(self) -> str:
        needed, available = self.facts.get("needed_bytes"), self.facts.get("available_bytes")
        if needed and available:
            return (
                f"does not fit: it needs {needed / GIB:.2f} GiB a chip, and {available / GIB:.2f} "
                "are there"
            )
        if self.facts.get("reason") == "memory":
            return "does not fit the memory of a chip"
        return "refused by the compiler"

    def _memory(self) -> str:
        parts = [
            (name, self.facts.get(key, 0))
            for name, key in (
                ("parameters", "parameters_bytes"),
                ("optimizer", "optimizer_bytes"),
                ("activations and buffers", "working_bytes"),
                ("program", "code_bytes"),
            )
        ]
        return "  " + ", ".join(f"{name} {_size(size)}" for name, size in parts if size)

    def _speed(self) -> Iterator[str]:
        bound, facts = self.bound, self.facts
        yield (
            f"  {facts['flops'] / 1e9:,.1f} GFLOP and {facts['bytes'] / 1e9:,.2f} GB a chip and "
            f"step: at best {_time(bound.seconds)} ({_time(bound.by_flops)} by FLOPs, "
            f"{_time(bound.by_memory)} by memory), {bound.images_per_second:,.0f} images/s; "
            f"{bound.binds} bind{'s' if bound.binds == 'memory' else ''}"
        )
        estimate = self.estimate
        if estimate:
            yield (
                f"  by the compiler's own estimate {_time(estimate)} a step, "
                f"{self.estimated_rate:,.0f} images/s, its input and the exchange apart"
            )
        if steps := facts.get("steps"):
            epoch = f"  an epoch of {steps:,} steps: at best {_time(steps * bound.seconds)}"
            yield f"{epoch}, as estimated {_time(steps * estimate)}" if estimate else epoch

    def _exchanged(self) -> Iterator[str]:
        shown = [
            f"{exchange['kind']} of {exchange['cause']} {_size(exchange['bytes'])}"
            for exchange in self.facts.get("collectives", ())
        ]
        if shown:
            yield "  " + ", ".join(shown)


def beside(estimate: Mapping[str, Any], metrics: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(event, text) for what a run's `metrics` say beside the compiler's estimate of its step.

    `estimate` as in `checks.tpu.estimate`. Nothing for a run that recorded no `step_seconds`, or
    for which CPU devices stood in.
    """
    device, measured = metrics.get("device"), metrics.get("step_seconds")
    if not (estimate and isinstance(device, Mapping) and isinstance(measured, int | float)):
        return
    if device.get("rehearsal"):
        return
    there, here = metrics.get("versions"), estimate.get("versions")
    text = (
        f"{_time(measured)} per step with its input, {_time(estimate['seconds'])} by the estimate "
        f"of {compiler(here)}: {measured / estimate['seconds']:.1f} times"
    )
    if peak := device.get("peak_bytes"):
        text += f"; {_size(peak)} a chip at peak, compiled for {_size(estimate['peak_bytes'])}"
    if seconds := device.get("compile_seconds"):
        text += f"; traced in {duration(device.get('trace_seconds', 0))}, compiled in "
        text += duration(seconds)
    yield "tpu", text
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        names = [n for n in ("jax", "libtpu") if n in there and n in here and there[n] != here[n]]
        if names:
            runs, own = (", ".join(f"{n} {v[n]}" for n in names) for v in (there, here))
            command = f"kernelkit tpu NOTEBOOK --libtpu {there.get('libtpu')}"
            yield (
                "warning",
                f"the session compiled with {runs}, and the estimate is by {own}: {command} "
                "estimates with the session's",
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
