"""The targets, each with the figure that this run measured. Times are medians, ratios medians over rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from ..measure.contenders import OURS, PEERS
from ..suites.shapes import MiB

SCRATCH = 4 * MiB


@dataclass
class Target:
    """One line: what is asked, what was measured, the case that decided it."""

    what: str
    asked: str
    measured: str
    met: bool
    worst: str = ""


def name(row: dict) -> str:
    op = "" if row["op"] == "sum" else row["op"] + " "
    threads = f", {row['threads']} threads" if row.get("threads", 1) > 1 else ""
    return f"{op}{row['dtype']} {row['label']}{threads}"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def slower(contender: dict, key: str) -> bool:
    """Slower than the peer in at least three quarters of the rounds: less is noise."""
    return contender[key]["high"] < 1


def evaluate(rows: list[dict]) -> list[dict]:
    cuda = [r for r in rows if r["device"] == "cuda"]
    found = [
        *_full(cuda),
        *_exact(cuda),
        *_shapes(cuda),
        *_hard(cuda),
        *_random(cuda),
        *_layouts(cuda),
        *_operators(cuda),
        *_peers(cuda),
        *_host(rows),
    ]
    found += [*_cpu(rows), *_promises(rows), *_scratch(cuda)]
    return [asdict(target) for target in found]


def _with(rows: list[dict], suite: str, mode: str, *also: str) -> list[tuple[dict, dict]]:
    """(row, contender) of the suite's rows that have the mode and every key of `also` in it."""
    pairs = [(r, r["contenders"].get(mode)) for r in rows if r["suite"] == suite]
    return [(r, c) for r, c in pairs if c is not None and all(key in c for key in also)]


def _excess(pairs: list[tuple[dict, dict]], allowed: Callable[[float], float]) -> tuple[float, dict, float]:
    """The largest time above what is allowed for the limit's own time, in us, with its row and that allowance."""
    over = []
    for r, c in pairs:
        most = allowed(r["contenders"]["limit"]["us"]["median"])
        over.append((c["us"]["median"] - most, r, most))
    return max(over, key=lambda item: item[0])


def _within(what: str, asked: str, pairs: list, allowed: Callable[[float], float]) -> Iterator[Target]:
    if pairs:
        excess, worst, most = _excess(pairs, allowed)
        measured = f"{excess:+.2f} us against {most:.2f} us"
        yield Target(what, asked, measured, excess <= 0, name(worst))


FULL = {  # share of the limit, and microseconds on top of it
    "atomic": (0.99, 0.3),
    "deterministic": (0.985, 1.0),
}

# Exact sums, of the limit: uniform and normal elements from 256 MiB up, by dtype; other distributions.
EXACT_FULL = {"float16": 0.95, "bfloat16": 0.95, "float32": 0.95, "float64": 0.90}
EXACT_DATA = {"gradient": 0.8, "log-normal 6": 0.4}
EXACT_WORST = 0.15
AS_FAST = 0.98  # of a peer's speed: less is slower
EXACT_CPU = 0.5  # of torch's speed, on one thread, at 2^24 fp32
EXACT_CPU_SHAPES = (0.25, 0.5)  # of torch's speed for the same shape and type: of any, and the geometric mean of a type
EXACT_FSUM = 100  # times the speed of math.fsum
PROD = 1.1  # times the limit, from 16 MiB up
FLOATING = 1.1  # times an integer result's: a full sum of 64-bit integers with a floating result
SLOW = 2  # times torch's speed, on the CPU, where torch.sum is known to be slow


def _full(rows: list[dict]) -> Iterator[Target]:
    for mode, (share, extra) in FULL.items():
        pairs = _with(rows, "full", mode, "times_limit")
        large = [(r, c) for r, c in pairs if r["in_bytes"] >= 16 * MiB]
        small = [(r, c) for r, c in pairs if r["in_bytes"] < 16 * MiB]
        line = f"<= limit / {share} + {extra} us"

        def allowed(limit: float, share=share, extra=extra) -> float:
            return limit / share + extra

        yield from _within(f"full, {mode}, every size", line, pairs, allowed)
        yield from _within(f"full, {mode}, from 16 MiB up", line, large, allowed)
        yield from _within(f"full, {mode}, below 16 MiB", line + " + 2 us", small, lambda t, a=allowed: a(t) + 2)


def _share(what: str, least: float, pairs: list[tuple[dict, dict]]) -> Iterator[Target]:
    """The smallest share of the limit's speed."""
    if pairs:
        worst, contender = max(pairs, key=lambda p: p[1]["times_limit"]["median"])
        share = 1 / contender["times_limit"]["median"]
        yield Target(what, f">= {least} of the limit", f"{share:.3f}", share >= least, name(worst))


def _faster(what: str, asked: str, pairs: list[tuple[dict, dict]], key: str, least: float) -> Iterator[Target]:
    """The smallest ratio of speeds."""
    if pairs:
        worst, contender = min(pairs, key=lambda p: p[1][key]["median"])
        speed = contender[key]["median"]
        yield Target(what, asked, f"{speed:.3g} x", speed >= least, name(worst))


def _exact(rows: list[dict]) -> Iterator[Target]:
    data = _with(rows, "data", "exact", "times_limit")
    full = [*_with(rows, "full", "exact", "times_limit"), *_with(rows, "exact", "exact", "times_limit")]
    large = [(r, c) for r, c in full + data if r["in_bytes"] >= 256 * MiB and r["data"] in ("uniform", "normal")]
    for dtype, least in EXACT_FULL.items():
        yield from _share(f"full, exact, {dtype}, from 256 MiB up", least, [p for p in large if p[0]["dtype"] == dtype])
    for kind, least in EXACT_DATA.items():
        yield from _share(f"full, exact, {kind} elements", least, [p for p in data if p[0]["data"] == kind])
    yield from _share("full, exact, any elements", EXACT_WORST, data)
    pairs = [(r, c) for r, c in full if r["in_bytes"] >= 16 * MiB and "speedup" in c]
    yield from _faster("full, exact, from 16 MiB up", "faster than torch", pairs, "speedup", 1)


def _shapes(rows: list[dict]) -> Iterator[Target]:
    for mode in OURS:
        pairs = _with(rows, "shapes", mode, "times_limit")
        if not pairs:
            continue
        mean = geometric_mean([c["times_limit"]["median"] for _, c in pairs])
        worst = max(pairs, key=lambda p: p[1]["times_limit"]["median"])[0]
        what = f"shapes, {mode}, geometric mean of {len(pairs)}"
        if mode == "exact":
            yield Target(what, "<= 1.25 x limit", f"{mean:.3f}", mean <= 1.25, name(worst))
            continue
        yield Target(what, "<= 1.15 x limit", f"{mean:.3f}", mean <= 1.15)
        yield Target(what, "<= 1.08 x limit", f"{mean:.3f}", mean <= 1.08, name(worst))
        asked = "<= 1.25 x limit or limit + 1 us"
        yield from _within(f"shapes, {mode}, worst", asked, pairs, lambda t: max(1.25 * t, t + 1))
        key = "speedup_over_inductor"
        peers = _with(rows, "shapes", mode, key)
        yield from _faster(f"shapes, {mode}, against inductor", f">= {AS_FAST} x its speed", peers, key, AS_FAST)


def _hard(rows: list[dict]) -> Iterator[Target]:
    for mode in ("deterministic", "atomic"):
        asked = "<= 1.25 x limit or limit + 1 us"
        pairs = _with(rows, "hard", mode, "times_limit")
        yield from _within(f"unaligned rows and masks, {mode}", asked, pairs, lambda t: max(1.25 * t, t + 1))


def _random(rows: list[dict]) -> Iterator[Target]:
    for mode in ("deterministic", "atomic"):
        pairs = _with(rows, "random", mode, "times_limit")
        other = [(r, c) for r, c in pairs if mode == "deterministic" and not r["keeps_order"]]
        yield from _within(f"random, {mode}, memory order not logical order", "<= 2 x limit", other, lambda t: 2 * t)
        if pairs := [p for p in pairs if p not in other]:
            mean = geometric_mean([c["times_limit"]["median"] for _, c in pairs])
            what = f"random, {mode}, geometric mean of {len(pairs)}"
            yield Target(what, "<= 1.2 x limit", f"{mean:.3f}", mean <= 1.2)
            worst, contender = max(pairs, key=lambda p: p[1]["times_limit"]["median"])
            most = contender["times_limit"]["median"]
            yield Target(f"random, {mode}, worst", "<= 1.6 x limit", f"{most:.3f}", most <= 1.6, name(worst))


def _layouts(rows: list[dict]) -> Iterator[Target]:
    other = "memory order not logical order"
    pairs = _with(rows, "layouts", "deterministic", "times_limit")
    yield from _within(f"{other}, deterministic", "<= 2 x limit", pairs, lambda t: 2 * t)
    pairs = _with(rows, "layouts", "atomic", "times_limit")
    asked = "<= 1.25 x limit or limit + 1 us"
    yield from _within(f"{other}, atomic", asked, pairs, lambda t: max(1.25 * t, t + 1))


def _operators(rows: list[dict]) -> Iterator[Target]:
    large = [r for r in rows if r["op"] == "prod" and r["in_bytes"] >= 16 * MiB]
    asked = f"<= {PROD} x limit"
    yield from _within("prod, from 16 MiB up", asked, _with(large, "ops", "deterministic", "us"), lambda t: PROD * t)
    full = [r for r in rows if r["dtype"] == "int64" and r["dims"] is None]
    by_label = {r["label"]: (r, c["us"]["median"]) for r, c in _with(full, "ops", "deterministic", "us")}
    ratios = [
        (us / by_label[label.replace("float64", "int64")][1], row)
        for label, (row, us) in by_label.items()
        if label.endswith("float64")
    ]
    if ratios:
        most, worst = max(ratios, key=lambda pair: pair[0])
        asked = f"<= {FLOATING} x as int64"
        yield Target("int64 with a floating result, full", asked, f"{most:.3f} x", most <= FLOATING, name(worst))


def _not_slower(what: str, pairs: list[tuple[dict, dict]], key: str) -> Iterator[Target]:
    if pairs:
        lost = sum(slower(c, key) for _, c in pairs)
        below = sum(c[key]["median"] < 1 for _, c in pairs)
        worst_row, worst = min(pairs, key=lambda p: p[1][key]["median"])
        measured = f"slower in {lost} of {len(pairs)} (by the median alone {below}), least {worst[key]['median']:.3f} x"
        yield Target(what, "never slower", measured, lost == 0, name(worst_row))


def _peers(rows: list[dict]) -> Iterator[Target]:
    for suite in ("full", "shapes", "hard", "random", "ops", "layouts"):
        for mode in OURS:
            for peer in PEERS:
                key = "speedup" if peer == "torch" else f"speedup_over_{peer}"
                yield from _not_slower(f"{suite}, {mode}, against {peer}", _with(rows, suite, mode, key), key)


def _host(rows: list[dict]) -> Iterator[Target]:
    for device in ("cuda", "cpu"):
        for mode in OURS:
            for grad in (False, True):
                chosen = [r for r in rows if r["device"] == device and r.get("grad") == grad]
                what = f"host time, {device}, {mode}{', with gradient' if grad else ''}"
                yield from _not_slower(what, _with(chosen, "host", mode, "speedup"), "speedup")
                # Arguments are read by torch.ops: its own sum says what that costs.
                key = "speedup_over_torch_ops"
                yield from _not_slower(f"{what}, against torch.ops.aten.sum", _with(chosen, "host", mode, key), key)


def _cpu(rows: list[dict]) -> Iterator[Target]:
    cpu = [r for r in rows if r["device"] == "cpu"]
    alone = [r for r in cpu if (r.get("threads"), r["dtype"]) == (1, "float32")]
    pairs = [*_with(alone, "full", "exact", "speedup"), *_with(alone, "exact", "exact", "speedup")]
    pairs = [(r, c) for r, c in pairs if r["n"] == 1 << 24]
    yield from _faster("CPU, full, exact", f">= {EXACT_CPU} x torch", pairs, "speedup", EXACT_CPU)
    pairs = _with(alone, "exact", "exact", "speedup_over_fsum")
    yield from _faster("CPU, full, exact", f">= {EXACT_FSUM} x math.fsum", pairs, "speedup_over_fsum", EXACT_FSUM)
    shapes = [r for r in cpu if (r["suite"], r.get("threads")) == ("exact", 1) and "/ all" not in r["label"]]
    least, mean = EXACT_CPU_SHAPES
    yield from _faster(
        "CPU, shapes, exact", f">= {least} x torch", _with(shapes, "exact", "exact", "speedup"), "speedup", least
    )
    for dtype in dict.fromkeys(r["dtype"] for r in shapes):
        pairs = _with([r for r in shapes if r["dtype"] == dtype], "exact", "exact", "speedup")
        speed = geometric_mean([c["speedup"]["median"] for _, c in pairs])
        what = f"CPU, shapes, exact, {dtype}, geometric mean of {len(pairs)}"
        yield Target(what, f">= {mean} x torch", f"{speed:.3g} x", speed >= mean)
    for suite in ("full", "shapes", "ops", "layouts", "slow"):
        for count in sorted({r["threads"] for r in cpu if "threads" in r}):
            pairs = _with([r for r in cpu if r.get("threads") == count], suite, "deterministic", "speedup")
            what = f"CPU, {suite}, {count} thread{'s' if count > 1 else ''}, against torch"
            if suite == "slow":
                yield from _faster(what, f">= {SLOW} x torch", pairs, "speedup", SLOW)
            else:
                yield from _not_slower(what, pairs, "speedup")


def _always(what: str, pairs: list[tuple[dict, dict]], holds: Callable[[dict, dict], bool]) -> Iterator[Target]:
    """A promise: no case may break it."""
    if pairs:
        broken = [r for r, c in pairs if not holds(r, c)]
        measured = f"{len(pairs) - len(broken)} of {len(pairs)} cases"
        yield Target(what, "always", measured, not broken, name(broken[0]) if broken else "")


def _promises(rows: list[dict]) -> Iterator[Target]:
    for device in ("cuda", "cpu"):
        for mode in OURS:
            pairs = [(r, r["contenders"].get(mode, {})) for r in rows if r["device"] == device]
            pairs = [(r, c) for r, c in pairs if "distinct" in c]
            if mode in ("deterministic", "exact"):
                yield from _always(f"{mode}, {device}: bits repeat", pairs, lambda r, c: c["distinct"] == 1)
            # Written so that NaN does not hold.
            what = f"{mode}, {device}: error within its bound"
            judged = [(r, c) for r, c in pairs if "error" in c]
            yield from _always(what, judged, lambda r, c, mode=mode: c["error"] <= r["bounds"][mode])
            compared = [(r, c) for r, c in pairs if "equals_cpu" in c]
            yield from _always(f"{mode}: CUDA and CPU agree bit for bit", compared, lambda r, c: c["equals_cpu"])
        pairs = [(r, r["contenders"]["exact"]) for r in rows if (r["device"], r["suite"]) == (device, "accuracy")]
        yield from _always(f"exact, {device}: the true sum rounded once", pairs, lambda r, c: c["rounded"])


def _scratch(rows: list[dict]) -> Iterator[Target]:
    pairs = [(r, c) for r in rows for c in r["contenders"].values() if "scratch_bytes" in c]
    if pairs:
        worst, most = max(pairs, key=lambda p: p[1]["scratch_bytes"])
        nbytes = most["scratch_bytes"]
        measured = f"{nbytes / MiB:.2f} MiB"
        yield Target("memory beside input and output", "<= 4 MiB", measured, nbytes <= SCRATCH, name(worst))
