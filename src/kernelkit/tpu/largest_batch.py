"""Search for the largest batch of a run that fits a TPU."""

from collections.abc import Callable

from kernelkit.errors import DoesNotFitError, PreflightError
from kernelkit.terminal.events import PROGRESS, Event, Events
from kernelkit.tpu.figures import PARTS
from kernelkit.tpu.tpu_run import TRAINING, TpuCheck, TpuRun

TRIED = Event("tried")
LARGEST = Event("largest", quiet=True)
STEP = 8  # images for each replica: a TPU's vector registers have eight rows
MOST = 4096  # images for each replica
GUESSES = 6  # after so many batches that did not settle it, the gap is halved
NOTABLE = 1.02  # times the images a second, from which on another batch is worth naming


def find_largest_batch(run: TpuRun, events: Events, libtpu: str = "") -> TpuCheck:
    """Find the largest batch of a replica that fits, and tell what the compiler says of it.

    Raises `PreflightError` for a run without such a parameter or without a training step, and
    `DoesNotFitError` if not even the smallest batch fits.
    """
    name = run.project.tpu.batch
    if name not in run.values:
        raise PreflightError(
            f"--largest-batch: the notebook has no parameter {name!r}: correct batch in "
            "[tool.kernelkit.tpu]"
        )
    results: dict[int, TpuCheck] = {}
    rates: dict[int, float] = {}

    def memory(batch: int) -> tuple[int, int] | None:
        events(PROGRESS, f"trying {name}={batch}")
        values = {**run.values, name: batch}
        check = TpuRun(run.project, values, run.machine, (TRAINING,)).compiled(events, libtpu)
        if not check.programs:
            raise PreflightError("--largest-batch: this run has no training step")
        program = check.programs[0]
        results[batch] = check
        rate = program.rate(program.estimate)
        speed = f"; {rate:,.0f} images/s as estimated" if rate else ""
        facts = {"batch": batch, "fits": program.fits, "estimated_images_per_second": rate}
        events(TRIED, f"{name}={batch}: {program.verdict}{speed}", **facts)
        if not program.fits:
            return None
        rates[batch] = rate
        fixed = (program.facts.get(PARTS[part], 0) for part in ("parameters", "optimizer"))
        return program.facts["peak_bytes"], sum(fixed)

    good, bad = largest(int(run.values[name]), memory, run.machine.hbm)
    if not good:
        raise DoesNotFitError(f"not even {name}={bad} fits a {run.machine.name}")
    results[good].tell(events)
    text = f"{name}={good} fits"
    if bad in results:
        text += f"; {name}={bad} does not fit"
    fastest = max(rates, key=lambda batch: (rates[batch], batch))
    if rates[fastest] > NOTABLE * rates[good]:
        text += (
            f". By the compiler's estimate {name}={fastest} is faster: {rates[fastest]:,.0f} "
            f"images/s for {rates[good]:,.0f}"
        )
    events(LARGEST, text, batch=good, fastest=fastest)
    return results[good]


def largest(
    begin: int, memory: Callable[[int], tuple[int, int] | None], room: int
) -> tuple[int, int]:
    """(largest batch that fits, smallest that does not) in steps of `STEP`, 0 and `MOST` included.

    `memory(n)` compiles a batch of n images for each replica. It gives (bytes that it takes at
    peak, bytes of these that any batch takes), or None where it does not fit a chip, which has
    `room` bytes. What a batch takes grows evenly, so the edge is estimated by the line through the
    two largest batches that fit.
    """
    good = 0
    bad = MOST + STEP
    tries = 0
    batch = min(max(-(-begin // STEP), 1) * STEP, MOST)
    peaks: dict[int, int] = {}  # {batch: its bytes at peak}; of batch 0, what any batch takes
    while bad - good > STEP:
        tries += 1
        guess = 0.0
        used = memory(batch)
        if used is None:
            bad = batch
        else:
            good = batch
            peaks[batch] = used[0]
            peaks.setdefault(0, used[1])
        if good and tries < GUESSES:
            low, high = sorted(peaks)[-2:]
            growth = (peaks[high] - peaks[low]) / (high - low)
            guess = high + (room - peaks[high]) / growth if growth > 0 else MOST
        else:
            guess = (good + bad) / 2
        batch = int(min(max(guess // STEP * STEP, good + STEP), bad - STEP))
    return good, bad
