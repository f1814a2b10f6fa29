"""Time by the host's clock: operators on the CPU, and what a call on the GPU costs the host."""

from __future__ import annotations

import time
from collections.abc import Callable

SAMPLE = 200e-6  # seconds that one sample lasts at least: far above the clock's own cost and resolution
LEAST_ROUNDS, MOST_ROUNDS = 9, 301


def _sample(call: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def interleaved(
    calls: dict[str, Callable[[], object]], seconds: float, before_sample: Callable[[], object] | None = None
) -> dict[str, list[float]]:
    """Microseconds per call, one sample a round and contender, for about `seconds` in all.

    A round samples every contender once, in an order that rotates: other programs on a shared machine then slow
    neighbouring samples alike, and the ratio of two contenders within a round keeps its meaning. `before_sample`
    runs outside the measured time.
    """
    names = list(calls)
    repeat = {}
    for name, call in calls.items():
        call()
        once = min(_sample(call, 1), _sample(call, 3))
        repeat[name] = min(1000, max(1, round(SAMPLE / once)))
    samples: dict[str, list[float]] = {name: [] for name in names}
    end = time.perf_counter() + seconds
    for r in range(MOST_ROUNDS):
        if r >= LEAST_ROUNDS and time.perf_counter() > end:
            break
        for name in names[r % len(names) :] + names[: r % len(names)]:
            if before_sample is not None:
                before_sample()
            samples[name].append(_sample(calls[name], repeat[name]) * 1e6)
    return samples
