"""Targets: which of them rows meet."""

from benchmark_rows import measured, timed

from benchmarks.report import targets


def test_random_shapes_are_judged_by_their_order():
    rows = [
        {"suite": "random", "device": "cuda", "op": "sum", "dtype": "float32", "label": label, "keeps_order": keeps}
        | {"contenders": {"limit": {"us": {"median": 10.0}}, "deterministic": measured(times)}}
        for label, keeps, times in (("a", True, 1.1), ("b", True, 1.3), ("c", False, 3.0))
    ]
    found = {t["what"]: t for t in targets.evaluate(rows)}
    assert found["random, deterministic, geometric mean of 2"]["met"]
    assert found["random, deterministic, worst"]["worst"] == "float32 b"
    assert not found["random, deterministic, memory order not logical order"]["met"]


def test_a_sum_rounded_wrongly_breaks_a_promise(accuracy_rows):
    promise = "exact, cpu: the true sum rounded once"
    found = {t["what"]: t for t in targets.evaluate(accuracy_rows)}
    assert found[promise]["met"] and found[promise]["asked"] == "always"
    wrong = [dict(r, contenders=r["contenders"] | {"exact": {"ulps": 0.6, "rounded": False}}) for r in accuracy_rows]
    assert not {t["what"]: t for t in targets.evaluate(wrong)}[promise]["met"]


def test_targets_of_exact_sums(gpu_rows):
    found = {t["what"]: t for t in targets.evaluate(gpu_rows)}
    assert found["full, exact, float32, from 256 MiB up"]["met"]
    assert found["full, exact, from 16 MiB up"]["measured"] == "2 x"
    slow = timed("data", "float32", 2**28, "normal", {"exact": 0.94})
    found = {t["what"]: t for t in targets.evaluate([*gpu_rows, slow])}
    assert not found["full, exact, float32, from 256 MiB up"]["met"]
    cliff = timed("data", "float32", 2**28, "every exponent", {"exact": 0.14})
    found = {t["what"]: t for t in targets.evaluate([*gpu_rows, cliff])}
    assert not found["full, exact, any elements"]["met"]


def test_targets_of_exact_sums_by_shape_on_the_cpu():
    """Every shape against torch's time for it, and the geometric mean of each type."""

    def rows(*speedups):
        base = {"suite": "exact", "device": "cpu", "threads": 1, "op": "sum", "in_bytes": 64, "n": 16}
        for i, speedup in enumerate(speedups):
            exact = {"speedup": {"median": speedup, "high": speedup}, "us": {"median": 1.0}}
            for dtype in ("float32", "float64"):
                yield base | {"dtype": dtype, "label": f"{i}×8 / 1", "contenders": {"exact": exact}}

    by_shape, mean = "CPU, shapes, exact", "CPU, shapes, exact, float64, geometric mean of 2"
    for speedups, met in (((0.26, 1.0), (True, True)), ((0.24, 2.0), (False, True)), ((0.3, 0.3), (True, False))):
        found = {t["what"]: t for t in targets.evaluate(list(rows(*speedups)))}
        assert (found[by_shape]["met"], found[mean]["met"]) == met
        assert found[by_shape]["measured"] == f"{min(speedups):.3g} x" and found[by_shape]["worst"] == "float32 0×8 / 1"


def test_targets_of_single_operators():
    def in_time(times):
        return {"contenders": {"limit": measured(1.0), "deterministic": measured(times)}}

    def rows(prod, floating):
        common = {"suite": "ops", "device": "cuda", "dims": None}
        products = common | {"op": "prod", "dtype": "bfloat16"}
        yield products | {"label": "2^26 / all", "in_bytes": 1 << 27} | in_time(prod)
        yield products | {"label": "2^12 / all", "in_bytes": 1 << 13} | in_time(2.0)
        sums = common | {"op": "sum", "dtype": "int64", "in_bytes": 1 << 15}
        yield sums | {"label": "2^12 / all as int64"} | in_time(2.0)
        yield sums | {"label": "2^12 / all as float64"} | in_time(2.0 * floating)

    for prod, floating in ((1.09, 1.09), (1.11, 1.09), (1.09, 1.11)):
        found = {t["what"]: t for t in targets.evaluate(list(rows(prod, floating)))}
        assert found["prod, from 16 MiB up"]["met"] == (prod < 1.1)
        assert found["int64 with a floating result, full"]["met"] == (floating < 1.1)
