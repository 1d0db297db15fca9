"""What processes that were started have used of the processor."""

import resource


def busy():
    """Seconds of work done by processes that have ended: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
